// Measures the output of a command through the official JavaScript SDK.
//
//   node bench.mjs '{"url":…,"api_key":…,"domain":…,"id":…,"bytes":…}'
//
// Prints the seconds that it took, from the start of the command to its end.
import * as sdk from 'e2b'

const at = JSON.parse(process.argv[2])
const box = await sdk.Sandbox.connect(at.id, { apiUrl: at.url, sandboxUrl: at.url, apiKey: at.api_key, domain: at.domain })
let have = 0
const began = performance.now()
await box.commands.run(`head -c ${at.bytes} /dev/zero | tr '\\0' x`, { onStdout: (text) => { have += text.length }, timeoutMs: 0 })
const took = (performance.now() - began) / 1000
if (have !== at.bytes) throw new Error(`${have} of ${at.bytes} bytes`)
console.log(took)
