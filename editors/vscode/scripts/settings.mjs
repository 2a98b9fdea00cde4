// Writes the settings of package.json from the schema of the server's configuration: "node scripts/settings.mjs".
// With --check it only says whether they are as the schema has them.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** What a workspace may set: nothing of it loosens a rule, costs money, or names something that is run or written. */
const OPEN = new Set(['strictPaths', 'coerce', 'messages', 'retry', 'writes', 'deferTools']);
/** What is of the machine that the files are on. All the rest is of the person, everywhere. */
const MACHINE = new Set(['writeRoots', 'readRoots', 'stateDir', 'log']);

const OWN = {
  'tandem.path': {
    type: 'string',
    default: '',
    scope: 'machine',
    order: 1,
    markdownDescription:
      'The `tandem` program: an absolute path, or a name to look for in `PATH`. Empty means the one that came with the extension, or else `tandem` in `PATH`.',
  },
  'tandem.env': {
    type: 'object',
    additionalProperties: { type: 'string' },
    default: {},
    scope: 'machine',
    order: 2,
    markdownDescription:
      'Environment variables for the server. Keys are better kept with the command *Tandem: Set API Key*.',
  },
};

function settings(schema) {
  const out = {};
  const add = (name, node, top) => {
    if (node.properties) {
      for (const [key, child] of Object.entries(node.properties)) {
        add(`${name}.${key}`, child, top);
      }
      return;
    }
    out[`tandem.${name}`] = { ...node, scope: OPEN.has(top) ? 'window' : MACHINE.has(top) ? 'machine' : 'application' };
  };
  for (const [name, node] of Object.entries(schema.properties)) {
    add(name, node, name);
  }
  return out;
}

/** The text of package.json with the settings of the schema. */
export function generate() {
  const manifest = JSON.parse(readFileSync(here('../package.json'), 'utf8'));
  const schema = JSON.parse(readFileSync(here('../../../docs/configuration.schema.json'), 'utf8'));
  manifest.contributes.configuration = [
    { title: 'Tandem', properties: { ...OWN } },
    { title: 'Agent', properties: settings(schema) },
  ];
  return JSON.stringify(manifest, null, 2) + '\n';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const want = generate();
  const file = here('../package.json');
  if (process.argv.includes('--check')) {
    if (readFileSync(file, 'utf8') !== want) {
      console.error('package.json is out of date; run node scripts/settings.mjs in editors/vscode');
      process.exit(1);
    }
  } else {
    writeFileSync(file, want);
  }
}
