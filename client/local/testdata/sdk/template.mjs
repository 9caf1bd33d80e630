// Builds templates, and bounds what sandboxes reach, with the official JavaScript
// SDK; see check.mjs for how it is called.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import * as sdk from 'e2b'

const { Sandbox, Template } = sdk
const at = JSON.parse(process.argv[2])
const only = process.argv.slice(3)
const conn = { apiUrl: at.url, sandboxUrl: at.url, apiKey: at.api_key, domain: at.domain }
const made = []

async function create(template, opts = {}) {
  const box = await Sandbox.create(template, { ...conn, timeoutMs: 300_000, ...opts })
  made.push(box)
  return box
}

async function until(what, cond) {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const got = await cond()
    if (got) return got
    await new Promise((go) => setTimeout(go, 50))
  }
  throw new Error(`waited in vain: ${what}`)
}

// page fetches a port by its host name, as a browser would.
function page(box, port, where = '/', headers = {}) {
  const to = new URL(at.url)
  return new Promise((resolve, reject) => {
    const req = http.get({ host: to.hostname, port: to.port, path: where, headers: { host: box.getHost(port), ...headers } }, (res) => {
      let text = ''
      res.setEncoding('utf8')
      res.on('data', (part) => (text += part))
      res.on('end', () => resolve({ status: res.statusCode, text, headers: res.headers }))
      res.on('error', reject)
    })
    req.on('error', reject)
  })
}

// project is a folder with something to copy.
function project() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abx-project-'))
  fs.mkdirSync(path.join(dir, 'sub', 'deep'), { recursive: true })
  fs.writeFileSync(path.join(dir, 'f.txt'), 'hi\n')
  fs.writeFileSync(path.join(dir, 'other.txt'), 'other\n')
  fs.writeFileSync(path.join(dir, 'sub', 'tool.sh'), '#!/bin/sh\necho tool\n')
  fs.writeFileSync(path.join(dir, 'sub', 'deep', 'x.md'), 'x')
  return dir
}

// fetching is a program that tells what it gets from a URL through its proxy.
const fetching = `python3 - <<'END'
import os, sys, urllib.request
os.environ['no_proxy'] = os.environ['NO_PROXY'] = ''
try: print(urllib.request.urlopen(os.environ['TARGET'], timeout=20).read().decode())
except urllib.error.HTTPError as e: print('HTTP', e.code)
except urllib.error.URLError as e: print('no way out')
END`

const topics = {
  async build() {
    const dir = project()
    const seen = []
    const template = Template({ fileContextPath: dir })
      .fromBaseImage()
      .copy('f.txt', '/app/')
      .copy('sub', '/app/sub', { mode: 0o755 })
      .copy('*.txt', 'texts/')
      .setEnvs({ A: '1', B: 'x-$A' })
      .setWorkdir('/app')
      .runCmd('echo "$A $B" > env.txt && pwd >> env.txt && echo said; echo aloud >&2')
      .setStartCmd('python3 -m http.server 8000', sdk.waitForPort(8000))
    const built = await Template.build(template, 'sdk-test:v1', {
      ...conn, tags: ['prod'], cpuCount: 1, memoryMB: 512, onBuildLogs: (l) => void seen.push(l.message),
    })
    assert.match(built.templateId, /^[a-z0-9]{20}$/)
    for (const want of [/FROM this machine's own system/, /RUN echo/, /\[stdout\]: said/, /\[stderr\]: aloud/, /finished/]) {
      assert.ok(seen.some((m) => want.test(m)), `${want} in ${seen.join('\n')}`)
    }
    assert.equal(await Template.exists('sdk-test', conn), true)
    assert.equal(await Template.exists('sdk-none', conn), false)

    const box = await create('sdk-test:v1')
    assert.equal(await box.files.read('/app/f.txt'), 'hi\n')
    assert.equal(await box.files.read('/app/env.txt'), '1 x-1\n/app\n')
    assert.equal(await box.files.read('/home/user/texts/other.txt'), 'other\n')
    const run = await box.commands.run('pwd; echo "$B"; ./sub/tool.sh; cat sub/deep/x.md; echo more >> /app/f.txt && wc -l < f.txt')
    assert.equal(run.stdout, '/app\nx-1\ntool\nx2\n')
    assert.match((await page(box, 8000, '/f.txt')).text, /^hi\n/)
    const other = await create('sdk-test:prod', { envs: { A: 'mine' } })
    assert.equal((await other.commands.run('echo $A; wc -l < f.txt')).stdout, 'mine\n1\n')
    assert.equal((await page(other, 8000, '/f.txt')).text, 'hi\n', 'both serve the same port')
    const info = await other.getInfo()
    assert.equal(info.name, 'sdk-test')
    assert.equal(info.cpuCount, 1)
    assert.equal(info.memoryMB, 512)
    await assert.rejects(create('sdk-test'), /not found/, 'no tag means the tag default')
  },

  async tags() {
    await Template.assignTags('sdk-test:v1', ['stable', 'default'], conn)
    const list = await Template.getTags('sdk-test', conn)
    assert.deepEqual(list.map((t) => t.tag).sort(), ['default', 'prod', 'stable', 'v1'])
    await Template.removeTags('sdk-test', ['stable'], conn)
    assert.equal((await Template.getTags('sdk-test', conn)).length, 3)
  },

  async 'on a template'() {
    const second = Template().fromTemplate('sdk-test').runCmd('cat f.txt > second.txt')
    await Template.build(second, 'sdk-second', conn)
    const box = await create('sdk-second')
    assert.equal(await box.files.read('/app/second.txt'), 'hi\n')
    assert.equal((await page(box, 8000, '/second.txt')).text, 'hi\n', 'the start command comes along')
    const snap = await box.createSnapshot()
    const copy = await create(snap.snapshotId)
    assert.equal(await copy.files.read('/app/second.txt'), 'hi\n', 'a snapshot has the folders outside the home')
    await Sandbox.deleteSnapshot(snap.snapshotId, conn)
  },

  async failures() {
    const fails = async (template, want) => {
      const e = await Template.build(template, 'sdk-bad', conn).then(() => assert.fail('it was built'), (e) => e)
      assert.match(e.message, want)
    }
    await fails(Template().fromBaseImage().runCmd('echo before; exit 3'), /exit status 3/)
    await fails(Template().fromBaseImage().runCmd('touch /opt/file'), /Read-only|folders that a WORKDIR or COPY names/)
    await fails(Template().fromImage('debian:12').runCmd('true'), /this machine's own programs/)
    await fails(Template({ fileContextPath: project() }).fromBaseImage().copy('f.txt', '/usr/local/bin/f'), /not for sandboxes to write in/)
    await fails(Template().fromBaseImage().setUser('postgres'), /no user/)
    assert.equal(await Template.exists('sdk-bad', conn), false)
    const warned = []
    await Template.build(Template().fromBaseImage().runCmd('id -u', { user: 'root' }), 'sdk-root', { ...conn, onBuildLogs: (l) => void warned.push(l.message) })
    assert.ok(warned.some((m) => /no root/.test(m)) && warned.some((m) => /\[stdout\]: 1000/.test(m)), warned.join('\n'))
  },

  async network() {
    const server = http.createServer((_, res) => res.end('from outside')).listen(0, '127.0.0.1')
    await new Promise((go) => server.once('listening', go))
    const TARGET = `http://127.0.0.1:${server.address().port}/`
    try {
      const plain = await create('base')
      assert.equal((await plain.commands.run(fetching, { envs: { TARGET } })).stdout.trim(), 'HTTP 403', 'no service of this machine')
      await plain.updateNetwork({ allowOut: ['127.0.0.1/32'] })
      assert.equal((await plain.commands.run(fetching, { envs: { TARGET } })).stdout.trim(), 'from outside')
      const host = await create('base', { metadata: { 'abxdash.network': 'host' } })
      assert.equal((await host.commands.run(fetching, { envs: { TARGET } })).stdout.trim(), 'from outside')

      const box = await create('base', { network: { allowOut: ['127.0.0.1/32'], denyOut: [sdk.ALL_TRAFFIC] } })
      const get = async () => (await box.commands.run(fetching, { envs: { TARGET } })).stdout.trim()
      assert.equal(await get(), 'from outside')
      const info = await box.getInfo()
      assert.deepEqual(info.network.allowOut, ['127.0.0.1/32'])
      await box.updateNetwork({ denyOut: [sdk.ALL_TRAFFIC] })
      assert.equal(await get(), 'HTTP 403')
      await box.updateNetwork({ allowOut: ['127.0.0.0/8'], denyOut: [sdk.ALL_TRAFFIC] })
      assert.equal(await get(), 'from outside')
      await assert.rejects(create('base', { network: { allowOut: ['example.com'] } }), /0\.0\.0\.0\/0/)

      const off = await create('base', { allowInternetAccess: false })
      assert.equal((await off.commands.run(fetching, { envs: { TARGET } })).stdout.trim(), 'no way out')
      await assert.rejects(off.updateNetwork({ allowInternetAccess: true }), /without a network/)
    } finally {
      server.close()
    }
  },

  async traffic() {
    const box = await create('base', { network: { allowPublicTraffic: false }, allowInternetAccess: false })
    assert.ok(box.trafficAccessToken.length > 20)
    await box.files.write('site/index.html', 'closed')
    await box.commands.run('cd site && exec python3 -m http.server 8000', { background: true, timeoutMs: 0 })
    const token = box.trafficAccessToken
    await until('it is served', async () => (await page(box, 8000, '/', { 'e2b-traffic-access-token': token })).text === 'closed')
    assert.equal((await page(box, 8000)).status, 403)
    assert.equal((await page(box, 8000, '/', { 'e2b-traffic-access-token': token + 'x' })).status, 403)
    const link = await page(box, 8000, `/index.html?a=b&abx_traffic_token=${token}`)
    assert.equal(link.status, 303)
    assert.equal(link.headers.location, '/index.html?a=b')
    const cookie = link.headers['set-cookie'][0].split(';')[0]
    assert.equal((await page(box, 8000, link.headers.location, { cookie: `x=y; ${cookie}` })).text, 'closed')
  },

  async fork() {
    const box = await create('base', { envs: { WHO: 'first' }, metadata: { k: 'v' } })
    await box.files.write('a.txt', 'forked')
    const forks = await box.fork({ count: 2 })
    made.push(...forks.filter((f) => f.sandboxId))
    assert.equal(forks.length, 2)
    for (const f of forks) {
      assert.notEqual(f.sandboxId, box.sandboxId)
      assert.equal(await f.files.read('a.txt'), 'forked')
      assert.equal((await f.commands.run('echo $WHO')).stdout, 'first\n')
    }
    await forks[0].files.write('a.txt', 'own')
    assert.equal(await forks[1].files.read('a.txt'), 'forked')
    assert.equal(await box.files.read('a.txt'), 'forked')
  },

  async limits() {
    const box = await create('base', { metadata: { 'abxdash.memory-mb': '300' } })
    assert.equal((await box.getInfo()).memoryMB, 300)
    const hungry = await box.commands.run("python3 -c 'x = bytearray(800 << 20); print(len(x))'").catch((e) => e)
    assert.notEqual(hungry.exitCode, 0)
  },
}

let failed = 0
for (const [name, topic] of Object.entries(topics)) {
  if (only.length > 0 && !only.includes(name)) continue
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
