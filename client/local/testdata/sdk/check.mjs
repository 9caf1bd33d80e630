// Drives the official JavaScript SDK against `abxdash local listen`.
//
//   node check.mjs '{"url":…,"api_key":…,"domain":…}' [topic…]
//
// Prints one line a topic and ends with 1 if any fails. It must lie beside a
// node_modules folder that holds the package `e2b`.
import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import * as sdk from 'e2b'

const { Sandbox } = sdk
const at = JSON.parse(process.argv[2])
const only = process.argv.slice(3)
const conn = { apiUrl: at.url, sandboxUrl: at.url, apiKey: at.api_key, domain: at.domain }
const made = []

async function create(opts = {}) {
  const box = await Sandbox.create({ ...conn, timeoutMs: 300_000, ...opts })
  made.push(box)
  return box
}

// until polls a condition; the test around this script bounds the whole.
async function until(what, cond) {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const got = await cond()
    if (got) return got
    await new Promise((go) => setTimeout(go, 20))
  }
  throw new Error(`waited in vain: ${what}`)
}

// page fetches a port of a sandbox by its host name, as a browser would.
function page(box, port, path = '/') {
  const host = box.getHost(port)
  const to = new URL(at.url)
  return new Promise((resolve, reject) => {
    const web = to.protocol === 'https:' ? https : http
    const servername = host.replace(/:\d+$/, '')
    const req = web.get({ host: to.hostname, port: to.port, path, headers: { host }, servername }, (res) => {
      let text = ''
      res.setEncoding('utf8')
      res.on('data', (part) => (text += part))
      res.on('end', () => resolve({ status: res.statusCode, text }))
      res.on('error', reject)
    })
    req.on('error', reject)
  })
}

const bytes = (n) => Uint8Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8)) & 255)

let box

const topics = {
  async create() {
    box = await create({ metadata: { purpose: 'a b&c=d', n: '1' }, envs: { GREETING: 'hello' } })
    assert.match(box.sandboxId, /^i[a-z0-9]{20}$/)
    assert.equal(await box.isRunning(), true)
    const info = await box.getInfo()
    assert.equal(info.sandboxId, box.sandboxId)
    assert.deepEqual(info.metadata, { purpose: 'a b&c=d', n: '1' })
    assert.equal(info.state, 'running')
    assert.ok(info.endAt - info.startedAt >= 299_000, 'a lifetime of 300 s')
    await assert.rejects(Sandbox.create('no-such-template', conn), /not found/)
    await assert.rejects(Sandbox.create({ ...conn, apiKey: 'e2b_' + '0'.repeat(40) }), sdk.AuthenticationError)
  },

  async foreground() {
    const done = await box.commands.run('echo "$GREETING $OWN"; echo oops >&2; pwd', { envs: { OWN: 'you' }, cwd: '/tmp' })
    assert.equal(done.stdout, 'hello you\n/tmp\n')
    assert.equal(done.stderr, 'oops\n')
    assert.equal(done.exitCode, 0)
    const failed = await box.commands.run('echo part; exit 7').catch((e) => e)
    assert.ok(failed instanceof sdk.CommandExitError)
    assert.equal(failed.exitCode, 7)
    assert.equal(failed.stdout, 'part\n')
    await assert.rejects(box.commands.run('true', { cwd: '/no/such/folder' }), sdk.InvalidArgumentError)
    await assert.rejects(box.commands.run('true', { user: 'ghost' }), sdk.AuthenticationError)
    const big = await box.commands.run('head -c 3000000 /dev/zero | tr "\\0" x')
    assert.equal(big.stdout.length, 3_000_000)
  },

  async background() {
    let seen = ''
    const job = await box.commands.run('for i in 1 2 3; do echo line $i; done; read word; echo got $word', {
      background: true,
      stdin: true,
      onStdout: (text) => void (seen += text),
    })
    await until('three lines', () => seen.includes('line 3'))
    const listed = await box.commands.list()
    assert.ok(listed.some((p) => p.pid === job.pid), 'the job is listed')

    const other = await box.commands.connect(job.pid)
    await box.commands.sendStdin(job.pid, 'fish\n')
    assert.equal((await job.wait()).exitCode, 0)
    assert.equal((await other.wait()).stdout, 'got fish\n')
    assert.match(seen, /got fish/)
  },

  async stdin() {
    const cat = await box.commands.run('cat', { background: true, stdin: true })
    await box.commands.sendStdin(cat.pid, 'one ')
    await box.commands.sendStdin(cat.pid, 'two')
    await box.commands.closeStdin(cat.pid)
    assert.equal((await cat.wait()).stdout, 'one two')
  },

  async kill() {
    const sleeper = await box.commands.run('sleep 600', { background: true })
    assert.equal(await box.commands.kill(sleeper.pid), true)
    const end = await sleeper.wait().catch((e) => e)
    assert.ok(end instanceof sdk.CommandExitError)
    assert.match(String(end.error), /signal: killed/)
    assert.equal(await box.commands.kill(999_999), false)
  },

  async timeout() {
    await assert.rejects(box.commands.run('sleep 600', { timeoutMs: 300 }), sdk.TimeoutError)
    await until('the process ends with its limit', async () => !(await box.commands.list()).some((p) => p.args.includes('sleep 600')))
  },

  async files() {
    const fs = box.files
    const info = await fs.write('folder/sub/a.txt', 'höllo\n')
    assert.equal(info.path, '/home/user/folder/sub/a.txt')
    assert.equal(await fs.read('folder/sub/a.txt'), 'höllo\n')
    const data = bytes(1_500_000)
    await fs.write('data.bin', data.buffer)
    assert.deepEqual(Buffer.from(await fs.read('data.bin', { format: 'bytes' })), Buffer.from(data))
    let streamed = 0
    for await (const part of await fs.read('data.bin', { format: 'stream' })) streamed += part.length
    assert.equal(streamed, data.length)
    assert.equal((await fs.read('data.bin', { format: 'blob' })).size, data.length)
    await fs.write('from-blob.txt', new Blob(['blob']))
    assert.equal(await fs.read('from-blob.txt'), 'blob')
    await fs.write('empty.txt', '')
    assert.equal(await fs.read('empty.txt'), '')

    const many = await fs.write([
      { path: 'many/1.txt', data: '1' },
      { path: '/home/user/many/deep/2.txt', data: '2' },
    ])
    assert.deepEqual(many.map((f) => f.path), ['/home/user/many/1.txt', '/home/user/many/deep/2.txt'])

    assert.equal(await fs.makeDir('new/dir'), true)
    assert.equal(await fs.makeDir('new/dir'), false)
    assert.equal(await fs.exists('new/dir'), true)
    assert.equal(await fs.exists('nothing'), false)
    const stat = await fs.getInfo('folder/sub/a.txt')
    assert.equal(stat.size, 7)
    assert.equal(stat.type, 'file')
    assert.equal(stat.owner, 'user')
    const tree = await fs.list('folder', { depth: 2 })
    assert.deepEqual(tree.map((e) => [e.path, e.type]), [
      ['/home/user/folder/sub', 'dir'],
      ['/home/user/folder/sub/a.txt', 'file'],
    ])
    assert.equal((await fs.rename('folder/sub/a.txt', 'folder/b.txt')).path, '/home/user/folder/b.txt')
    assert.equal(await fs.exists('folder/sub/a.txt'), false)
    await fs.remove('folder')
    assert.equal(await fs.exists('folder'), false)
    await assert.rejects(fs.read('folder/b.txt'), sdk.NotFoundError)
    await assert.rejects(fs.list('nothing'), sdk.NotFoundError)
  },

  async 'files, other forms'() {
    const fs = box.files
    const text = 'again and again '.repeat(10_000)
    await fs.write('zipped.txt', text, { gzip: true })
    assert.equal(await fs.read('zipped.txt', { gzip: true }), text)
    await fs.write('octets.bin', bytes(70_000).buffer, { useOctetStream: true })
    assert.deepEqual(Buffer.from(await fs.read('octets.bin', { format: 'bytes' })), Buffer.from(bytes(70_000)))
    await fs.write('streamed.txt', new Blob(['part one, ', 'part two']).stream())
    assert.equal(await fs.read('streamed.txt'), 'part one, part two')
    if (fs.writeFiles) {
      const two = await fs.writeFiles([{ path: 'w/1', data: 'one' }, { path: 'w/2', data: new Blob(['two']) }])
      assert.deepEqual(two.map((f) => f.name), ['1', '2'])
      assert.equal(await fs.read('w/2'), 'two')
    }
    await fs.rename('zipped.txt', 'octets.bin')
    assert.equal((await fs.read('octets.bin')).length, text.length)
    await assert.rejects(fs.rename('nothing', 'x'), sdk.NotFoundError)
  },

  async watch() {
    await box.files.makeDir('watched/sub')
    const seen = []
    const watch = await box.files.watchDir('watched', (e) => void seen.push(`${e.type} ${e.name}`), { recursive: true })
    await box.files.write('watched/sub/w.txt', 'w')
    await until('create and write', () => seen.includes('create sub/w.txt') && seen.includes('write sub/w.txt'))
    await box.files.rename('watched/sub/w.txt', 'watched/x.txt')
    await until('rename', () => seen.includes('rename sub/w.txt') && seen.includes('create x.txt'))
    await box.files.remove('watched/x.txt')
    await until('remove', () => seen.includes('remove x.txt'))
    await watch.stop()
    await assert.rejects(box.files.watchDir('nothing', () => {}), sdk.NotFoundError)
  },

  async pty() {
    let screen = ''
    const decoder = new TextDecoder()
    const term = await box.pty.create({ cols: 80, rows: 24, onData: (d) => void (screen += decoder.decode(d, { stream: true })) })
    const type = (text) => box.pty.sendInput(term.pid, new TextEncoder().encode(text))
    await type('stty size; echo "$TERM" "$LANG"\n')
    await until('the first size', () => screen.includes('24 80'))
    await until('its environment', () => screen.includes('xterm-256color C.UTF-8'))
    await box.pty.resize(term.pid, { cols: 132, rows: 43 })
    await type('stty size\n')
    await until('the second size', () => screen.includes('43 132'))
    await type('exit 0\n')
    assert.equal((await term.wait()).exitCode, 0)

    const other = await box.pty.create({ cols: 20, rows: 5, onData: () => {} })
    let copied = ''
    const again = await box.pty.connect(other.pid, { onData: (d) => void (copied += new TextDecoder().decode(d)) })
    await box.pty.sendInput(other.pid, new TextEncoder().encode("echo two''fold\n"))
    await until('a second reader', () => copied.includes('twofold'))
    await again.disconnect()
    assert.equal(await box.pty.kill(other.pid), true)
    await assert.rejects(other.wait())
  },

  async git() {
    if (!box.git) return
    await box.git.init('repo', { initialBranch: 'trunk' })
    await box.git.configureUser('Some One', 'one@example.test')
    await box.files.write('repo/a.txt', 'a')
    await box.git.add('repo')
    await box.git.commit('repo', 'one')
    await box.files.write('repo/a.txt', 'changed')
    const status = await box.git.status('repo')
    assert.equal(status.currentBranch, 'trunk')
    assert.equal(status.fileStatus.length, 1)
  },

  async metrics() {
    const list = await until('a measurement', async () => {
      const got = await box.getMetrics()
      return got.length > 0 && got
    })
    assert.ok(list[0].memTotal > 0 && list[0].memUsed >= 0 && list[0].cpuCount > 0 && list[0].diskTotal > 0)
  },

  async list() {
    const extra = []
    for (let i = 0; i < 3; i++) extra.push(await create({ metadata: { group: 'paging x', n: String(i) } }))
    const all = []
    const pages = Sandbox.list({ ...conn, limit: 2, query: { metadata: { group: 'paging x' } } })
    let rounds = 0
    while (pages.hasNext) {
      all.push(...(await pages.nextItems()))
      rounds++
    }
    assert.equal(rounds, 2)
    assert.deepEqual(all.map((s) => s.sandboxId).sort(), extra.map((s) => s.sandboxId).sort())
    for (const s of extra) assert.equal(await s.kill(), true)
  },

  async 'set timeout'() {
    await box.setTimeout(900_000)
    const info = await box.getInfo()
    assert.ok(info.endAt - Date.now() > 890_000)
    await Sandbox.setTimeout(box.sandboxId, 1_800_000, conn)
    assert.ok((await Sandbox.getInfo(box.sandboxId, conn)).endAt - Date.now() > 1_790_000)
    const short = await create({ timeoutMs: 300_000 })
    await short.setTimeout(1000)
    await until('the end of its lifetime', async () => !(await short.isRunning()))
    await assert.rejects(short.setTimeout(1000), sdk.NotFoundError)
  },

  async pause() {
    const p = await create()
    await p.files.write('kept.txt', 'kept')
    const counter = await p.commands.run('i=0; while :; do i=$((i+1)); echo $i > ~/count; sleep 0.05; done', { background: true, timeoutMs: 0 })
    await until('it counts', () => p.files.exists('count'))
    await (p.pause ?? p.betaPause).call(p)
    assert.equal(await p.isRunning(), false)
    assert.equal((await p.getInfo()).state, 'paused')
    const paused = await Sandbox.list({ ...conn, query: { state: ['paused'] } }).nextItems()
    assert.ok(paused.some((s) => s.sandboxId === p.sandboxId), 'a list of paused ones has it')
    const back = await Sandbox.connect(p.sandboxId, { ...conn, timeoutMs: 120_000 })
    assert.equal(back.sandboxId, p.sandboxId)
    assert.equal(await back.files.read('kept.txt'), 'kept')
    assert.ok((await back.commands.list()).some((c) => c.pid === counter.pid), 'its process goes on')
    const before = await back.files.read('count')
    await until('it counts on', async () => (await back.files.read('count')) !== before)
    assert.equal(await back.kill(), true)
  },

  async 'signed url'() {
    await box.files.write('signed.txt', 'signed content')
    const url = await box.downloadUrl('signed.txt', { useSignature: true, useSignatureExpiration: 60 })
    const got = await fetch(url)
    assert.equal(got.status, 200)
    assert.equal(await got.text(), 'signed content')
    const bent = new URL(url)
    bent.searchParams.set('path', '/etc/hostname')
    assert.ok((await fetch(bent)).status >= 400, 'another path is refused')

    const form = new FormData()
    form.append('file', new Blob(['uploaded']), 'up.txt')
    const put = await fetch(await box.uploadUrl('up.txt', { useSignature: true }), { method: 'POST', body: form })
    assert.equal(put.status, 200)
    assert.equal(await box.files.read('up.txt'), 'uploaded')
  },

  async 'port 9000'() {
    const serve = async (text) => {
      const s = await create({ allowInternetAccess: false })
      await s.files.write('site/index.html', text)
      await s.commands.run('cd ~/site && exec python3 -m http.server 9000 --bind 127.0.0.1', { background: true, timeoutMs: 0 })
      return s
    }
    const [one, two] = [await serve('page one'), await serve('page two')]
    for (const [s, text] of [[one, 'page one'], [two, 'page two']]) {
      await until('the page is served', async () => (await page(s, 9000, '/index.html')).text === text)
    }
    assert.equal((await page(one, 9001)).status, 502)
    assert.equal(await two.kill(), true)
    assert.equal((await page(two, 9000)).status, 502)
    assert.equal((await page(one, 9000, '/index.html')).text, 'page one')
  },

  async snapshot() {
    if (!box.createSnapshot) return
    await box.files.write('snap/me.txt', 'as it was')
    const snap = await box.createSnapshot()
    await box.files.write('snap/me.txt', 'changed')
    const copy = await Sandbox.create(snap.snapshotId, conn)
    made.push(copy)
    assert.equal(await copy.files.read('snap/me.txt'), 'as it was')
    const listed = await Sandbox.listSnapshots({ ...conn, sandboxId: box.sandboxId }).nextItems()
    assert.ok(listed.some((s) => s.snapshotId === snap.snapshotId), 'the snapshot is listed')
    assert.equal(await Sandbox.deleteSnapshot(snap.snapshotId, conn), true)
    assert.equal(await Sandbox.deleteSnapshot(snap.snapshotId, conn), false)
  },

  async 'end'() {
    assert.equal(await box.kill(), true)
    assert.equal(await box.isRunning(), false)
    assert.equal(await Sandbox.kill(box.sandboxId, conn), false)
    await assert.rejects(box.commands.run('true'))
    await assert.rejects(Sandbox.connect(box.sandboxId, conn), sdk.NotFoundError)
  },
}

let failed = 0
for (const [name, topic] of Object.entries(topics)) {
  if (only.length > 0 && name !== 'create' && !only.includes(name)) continue
  try {
    await topic()
    console.log(`ok ${name}`)
  } catch (e) {
    failed++
    console.log(`FAIL ${name}: ${e?.stack ?? e}`)
  }
}
for (const s of made) await Sandbox.kill(s.sandboxId, conn).catch(() => {})
console.log(failed === 0 ? 'all ok' : `${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
