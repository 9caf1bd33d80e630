// The plug-in protocol in JavaScript: JSON lines in, JSON lines out.
import { createInterface } from "node:readline";

const boxes = new Map([["box-1", { id: "box-1", name: "only", state: "running", template: "sample" }]]);

const methods = {
  hello: () => ({ protocol: 1, name: "sample-node", capabilities: ["commands", "files"] }),
  list: () => ({ sandboxes: [...boxes.values()] }),
  get: ({ id }) => find(id),
  kill: ({ id }) => (find(id), boxes.delete(id), {}),
};

function find(id) {
  const box = boxes.get(id);
  if (!box) throw { kind: "not_found", message: `no sandbox ${id}` };
  return box;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (!method) continue; // input to a call that has ended
  let answer;
  try {
    if (!methods[method]) throw { kind: "unsupported", message: `no ${method}` };
    answer = { id, result: methods[method](params ?? {}) };
  } catch (e) {
    answer = { id, error: { kind: e.kind ?? "", message: String(e.message ?? e) } };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
