// Every message of a recorded connection, in both directions, is held against the schema of the protocol that the SDK ships.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import Ajv from "ajv/dist/2020.js";

const schema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve("@agentclientprotocol/sdk").replace(/dist\/.*$/, "schema/v1/schema.json")),
);
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(schema, "acp");

// The definitions by method: what it takes, and what answers it.
const takes = {}, answers = {};
for (const [name, def] of Object.entries(schema.$defs)) {
  const method = def["x-method"];
  if (!method) continue;
  if (name.endsWith("Response")) answers[method] = name;
  else takes[method] = name;
}

// faults gives a sentence for each thing that the schema does not allow. messages are {from: "client" | "agent", msg}.
export function faults(messages) {
  const found = [], asked = {};
  const check = (def, value, what) => {
    const validate = ajv.getSchema(`acp#/$defs/${def}`);
    if (!validate(value ?? null)) {
      found.push(`${what} is no ${def}: ${ajv.errorsText(validate.errors).slice(0, 600)}\n${JSON.stringify(value).slice(0, 800)}`);
    }
  };
  for (const { from, msg } of messages) {
    if (msg.method) {
      const side = schema.$defs[takes[msg.method]]?.["x-side"];
      if (!side) found.push(`${from} sends ${msg.method}, which is no method of the protocol`);
      else if (side === from) found.push(`${from} sends ${msg.method}, which is for it to take`);
      else check(takes[msg.method], msg.params, `${msg.method} of the ${from}`);
      if (msg.id !== undefined) asked[`${from} ${JSON.stringify(msg.id)}`] = msg.method;
      continue;
    }
    const other = from === "agent" ? "client" : "agent";
    const method = asked[`${other} ${JSON.stringify(msg.id)}`];
    if (!method && msg.id !== null) found.push(`${from} answers ${JSON.stringify(msg.id)}, which nobody asked`);
    else if (msg.error) check("Error", msg.error, `the error of ${method}`);
    else check(answers[method], msg.result, `the answer to ${method}`);
  }
  return found;
}
