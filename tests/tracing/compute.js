// Reads a list of {program, inputs, outputs, main, settings} and prints the outputs of each, or the error.
const fs = require("fs");
const { Program } = require(process.argv[2]);
const { rewrite } = require(process.argv[3]);
const answers = JSON.parse(fs.readFileSync(0, "utf8")).map(({ program, inputs, outputs, main, settings }) => {
  try {
    const model = new Program(program);
    for (const [name, numbers] of Object.entries(inputs)) if (model.has(name)) model.set(name, numbers);
    if (settings) rewrite(model, main, settings);
    return Object.fromEntries(outputs.map((name) => [name, Array.from(model.output(name).data)]));
  } catch (error) {
    return String(error.stack);
  }
});
const text = JSON.stringify(answers, (_, v) => (typeof v === "number" && !Number.isFinite(v) ? String(v) : v));
process.stdout.write(text);
