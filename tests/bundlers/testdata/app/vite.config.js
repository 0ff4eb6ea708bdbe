export default { optimizeDeps: { exclude: ['@weft-ml/weft'] } }
