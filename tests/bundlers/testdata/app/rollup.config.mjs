import { createRequire } from 'node:module'

// The plugins lie where the tools do.
const need = createRequire(`${process.env.WEFT_TOOLS}/`)
const { nodeResolve } = need('@rollup/plugin-node-resolve')
const { importMetaAssets } = await import(need.resolve('@web/rollup-plugin-import-meta-assets'))

export default { input: 'page.js', output: { dir: 'dist', format: 'es', entryFileNames: 'page.js' }, plugins: [nodeResolve(), importMetaAssets()] }
