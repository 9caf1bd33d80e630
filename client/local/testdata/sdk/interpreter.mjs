// Drives the official code interpreter SDK against `abxdash local listen`; see
// check.mjs for how it is called.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/code-interpreter'

const at = JSON.parse(process.argv[2])
const conn = { apiUrl: at.url, sandboxUrl: at.url, apiKey: at.api_key, domain: at.domain }
const box = await Sandbox.create(conn)

const topics = {
  async python() {
    const out = []
    const run = await box.runCode('x = 20\nprint("hello")\nx + 22', { onStdout: (m) => void out.push(m.line) })
    assert.equal(run.error, undefined)
    assert.equal(run.text, '42')
    assert.deepEqual(run.logs.stdout, ['hello\n'])
    assert.deepEqual(out, ['hello\n'])
    assert.equal((await box.runCode('x * 2')).text, '40')
    assert.equal((await box.runCode('import os; os.environ["ONCE"]', { envs: { ONCE: 'yes' } })).text, 'yes')
    assert.equal((await box.runCode('os.environ.get("ONCE")')).text, undefined)
  },
  async error() {
    const run = await box.runCode('def f():\n    return 1 / 0\nf()')
    assert.equal(run.error.name, 'ZeroDivisionError')
    assert.match(run.error.traceback, /<cell \d+>.*line 2, in f/s)
  },
  async rich() {
    const run = await box.runCode('class H:\n    def _repr_html_(self): return "<b>hi</b>"\nH()')
    assert.equal(run.results[0].html, '<b>hi</b>')
    assert.equal(run.results[0].isMainResult, true)
  },
  async bash() {
    await box.runCode('v=kept; cd /tmp', { language: 'bash' })
    assert.deepEqual((await box.runCode('echo $v; pwd', { language: 'bash' })).logs.stdout.join(''), 'kept\n/tmp\n')
    assert.equal((await box.runCode('false', { language: 'bash' })).error.value, '1')
  },
  async javascript() {
    await box.runCode('const a = await Promise.resolve(6); console.log("from js")', { language: 'js' })
    const run = await box.runCode('a * 7', { language: 'js' })
    assert.equal(run.text, '42')
  },
  async contexts() {
    const ctx = await box.createCodeContext({ language: 'python', cwd: '/tmp' })
    assert.equal((await box.runCode('import os; os.getcwd()', { context: ctx })).text, '/tmp')
    assert.equal((await box.runCode('x', { context: ctx })).error.name, 'NameError')
    assert.ok((await box.listCodeContexts()).some((c) => c.id === ctx.id))
    await box.restartCodeContext(ctx)
    assert.equal((await box.runCode('1', { context: ctx })).text, '1')
    await box.removeCodeContext(ctx)
    await assert.rejects(box.runCode('1', { context: ctx }))
  },
}

let failed = 0
for (const [name, topic] of Object.entries(topics)) {
  try {
    await topic()
    console.log(`ok ${name}`)
  } catch (e) {
    failed++
    console.log(`FAIL ${name}: ${e?.stack ?? e}`)
  }
}
await box.kill()
console.log(failed === 0 ? 'all ok' : `${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
