// The pages that the search of a site finds: node search.js WORKER INDEX, and JSON of the words.
const { readFileSync } = require("fs");
const { runInThisContext } = require("vm");

const [worker, index] = process.argv.slice(2);
globalThis.self = {};
runInThisContext(readFileSync(worker, "utf8"));

function ask(type, data) {
  return new Promise((answered) => {
    self.postMessage = (message) => answered(message.data);
    self.onmessage({ data: { type, data } });
  });
}

(async () => {
  const content = JSON.parse(readFileSync(index, "utf8"));
  await ask(0, content);
  const found = [];
  for (const input of JSON.parse(readFileSync(0, "utf8"))) {
    const { items } = await ask(2, { input, filter: { input: {}, aggregations: [] } });
    found.push(items.map(({ id }) => content.items[id].location));
  }
  console.log(JSON.stringify(found));
})();
