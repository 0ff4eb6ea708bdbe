// What the tests of the browser package call through the DevTools protocol.
import * as weft from './weft.js'
globalThis.weft = weft
