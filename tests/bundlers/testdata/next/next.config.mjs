export default { output: 'export', turbopack: { root: process.env.NEXT_ROOT } }
