// Drives one Firefox by WebDriver BiDi: commands come as lines of JSON, answers and what pages complain about go back as such. It ends, and
// Firefox with it, when there are no more commands.
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'

const puppeteer = createRequire(`${process.env.WEFT_TOOLS}/`)('puppeteer-core')
const tell = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const pages = new Map()
let browser

// The console does not hear of what a policy forbids.
const watch = () => addEventListener('securitypolicyviolation', (e) => console.error(`${e.violatedDirective} forbids ${e.blockedURI} (${e.sourceFile}:${e.lineNumber})`))

const commands = {
  async start({ program, prefs }) {
    browser = await puppeteer.launch({ browser: 'firefox', executablePath: program, headless: true, extraPrefsFirefox: prefs })
    return browser.version()
  },
  async open({ id, url }) {
    const page = await browser.newPage()
    pages.set(id, page)
    const note = (problem) => tell({ page: id, problem })
    page.on('console', (m) => { if (['error', 'warn', 'warning', 'assert'].includes(m.type())) note(`console.${m.type()}: ${m.text()}`) })
    page.on('pageerror', (e) => note(String(e?.message ?? e)))
    page.on('requestfailed', (r) => note(`${r.url()}: ${r.failure()?.errorText}`))
    page.on('response', (r) => { if (r.status() >= 400) note(`${r.url()}: ${r.status()}`) })
    await page.evaluateOnNewDocument(watch)
    await page.setViewport({ width: 1200, height: 900 })
    await page.goto(url, { timeout: 60_000 })
  },
  // Errors are told by the page: those of classes of its own would arrive as objects without a message.
  async run({ id, body }) {
    const text = await pages.get(id).evaluate(`(async () => {${body}\n})().then((value) => JSON.stringify({ value }), (e) => JSON.stringify({ error: String(e) }))`)
    const { value, error } = JSON.parse(text)
    if (error !== undefined) throw new Error(`the page threw: ${error}`)
    return value
  },
  click: ({ id, selector }) => pages.get(id).click(selector),
  async draw({ id, points }) {
    const { mouse } = pages.get(id)
    await mouse.move(...points[0])
    await mouse.down()
    for (const at of points.slice(1)) await mouse.move(...at)
    await mouse.up()
  },
  async shot({ id, file }) { await pages.get(id).screenshot({ path: file }) },
  async close({ id }) {
    await pages.get(id).close()
    pages.delete(id)
  },
}

async function end() {
  setTimeout(() => { browser?.process()?.kill('SIGKILL'); process.exit(1) }, 5000).unref()
  await browser?.close()
  process.exit(0)
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { number, name, args } = JSON.parse(line)
    commands[name](args).then((result) => tell({ number, result }), (e) => tell({ number, error: String(e?.message || e) }))
  })
  .on('close', end)
