import { createRequire } from 'node:module'

const webpack = createRequire(`${process.env.WEFT_TOOLS}/`)('webpack')
webpack({ mode: 'production', context: import.meta.dirname, entry: './page.js', output: { path: `${import.meta.dirname}/dist` }, performance: false }, (error, stats) => {
  if (error || stats.hasErrors() || stats.hasWarnings()) throw error ?? new Error(stats.toString('errors-warnings'))
})
