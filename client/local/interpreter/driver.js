// The JavaScript kernel: reads one JSON object a line on standard input, writes
// one a line on descriptor 3, and evaluates code as Node's own REPL does.
'use strict'
const fs = require('fs')
const repl = require('repl')
const util = require('util')
const nodeModule = require('module')
const { Console } = require('console')
const { PassThrough, Writable } = require('stream')

const send = (event) => {
  let data = Buffer.from(JSON.stringify(event) + '\n')
  while (data.length > 0) {
    try {
      data = data.subarray(fs.writeSync(3, data))
    } catch (e) {
      if (e.code !== 'EAGAIN') throw e
    }
  }
}
const says = (type) => (text) => void send({ type, text: String(text), timestamp: new Date().toISOString() })
const sink = (type) => new Writable({ decodeStrings: false, write: (text, _, done) => (says(type)(text), done()) })

const unseen = new PassThrough()
unseen.resume()
const shell = repl.start({ prompt: '', input: new PassThrough(), output: unseen, terminal: false, useGlobal: false })
const outs = { stdout: sink('stdout'), stderr: sink('stderr') }
shell.context.console = new Console(outs)
for (const name of ['stdout', 'stderr']) {
  process[name].write = (text, encoding, done) => {
    says(name)(typeof text === 'string' ? text : Buffer.from(text).toString())
    const then = typeof encoding === 'function' ? encoding : done
    if (then) then()
    return true
  }
}
shell.context.display = (value) => send(result(value, false))

function result(value, main) {
  const event = { type: 'result', text: typeof value === 'string' ? value : util.inspect(value), extra: {}, is_main_result: main }
  if (value !== null && typeof value === 'object' && !util.types.isProxy(value)) {
    for (const [key, name] of [['html', 'toHTML'], ['svg', 'toSVG'], ['markdown', 'toMarkdown']]) {
      if (typeof value[name] === 'function') event[key] = String(value[name]())
    }
    const proto = Object.getPrototypeOf(value)
    if (proto === null || proto.constructor?.name === 'Object') {
      try {
        event.json = JSON.parse(JSON.stringify(value))
      } catch {}
    }
  }
  return event
}

// An error that the code throws may come by the REPL's domain instead of the
// callback, which depends on the version of Node.js.
let failing = null
if (shell._domain) {
  shell._domain.removeAllListeners('error')
  shell._domain.on('error', (e) => (failing ? failing(e) : says('stderr')(`${e?.stack ?? e}\n`)))
}
const evaluate = (code) =>
  new Promise((resolve, reject) => {
    failing = reject
    shell.eval(code + '\n', shell.context, 'cell', (err, value) => {
      if (err) reject(err instanceof repl.Recoverable ? err.err : err)
      else resolve(value)
    })
  })

let count = 0
async function run(req) {
  send({ type: 'number_of_executions', execution_count: ++count })
  const before = {}
  for (const [k, v] of Object.entries(req.env ?? {})) {
    before[k] = process.env[k]
    process.env[k] = v
  }
  try {
    let code = req.code
    if (req.language === 'typescript') {
      if (!nodeModule.stripTypeScriptTypes) throw new Error('TypeScript needs Node.js 22.13 or newer, this is ' + process.version)
      code = nodeModule.stripTypeScriptTypes(code)
    }
    const value = await evaluate(code)
    if (value !== undefined) send(result(value, true))
  } catch (e) {
    const error = e !== null && typeof e === 'object' && 'stack' in e ? e : new Error(util.inspect(e))
    send({ type: 'error', name: String(error.name ?? 'Error'), value: String(error.message ?? ''), traceback: String(error.stack ?? '') })
  }
  failing = null
  for (const [k, v] of Object.entries(before)) {
    if (v === undefined) delete process.env[k]
    else process.env[k] = v
  }
  send({ type: 'done' })
}

process.on('uncaughtException', (e) => says('stderr')(`${e?.stack ?? e}\n`))
process.on('unhandledRejection', (e) => says('stderr')(`${e?.stack ?? e}\n`))
process.on('SIGINT', () => process.exit(130))

let queue = Promise.resolve()
let rest = ''
const decoder = new util.TextDecoder()
process.stdin.on('data', (data) => {
  rest += decoder.decode(data, { stream: true })
  for (let i; (i = rest.indexOf('\n')) >= 0; rest = rest.slice(i + 1)) {
    const req = JSON.parse(rest.slice(0, i))
    queue = queue.then(() => run(req))
  }
})
process.stdin.on('end', () => process.exit(0))
