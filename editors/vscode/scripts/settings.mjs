// Writes what package.json has from the schema of the server's configuration: "node scripts/settings.mjs".
// With --check it only says whether it is as the schema has it.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const SCHEMA = here('../../../docs/configuration.schema.json');

/** What is of the machine that the files are on. */
const MACHINE = new Set(['writeRoots', 'readRoots', 'stateDir', 'log']);

/** Where a setting may be made: all are the person's. What a workspace may say stands in its .tandem/config.json. */
function scope(top) {
  return MACHINE.has(top) ? 'machine' : 'application';
}

/** The files that the server reads, for which VS Code then completes keys and shows what is wrong. */
const FILES = ['**/.tandem/config.json', '**/tandem/config.json'];

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
  'tandem.shareEditor': {
    type: 'boolean',
    default: true,
    scope: 'application',
    order: 3,
    description:
      'Tell the model with every prompt which file is in front of you, where the cursor is, what is selected, and the names of other open files. Files outside of the workspace and files such as .env are never told of.',
  },
};

function settings(schema) {
  const out = {};
  const add = (name, node, top) => {
    if (node.deprecationMessage || name === '$schema') {
      return; // what has no effect is no setting
    }
    if (node.properties) {
      for (const [key, child] of Object.entries(node.properties)) {
        add(`${name}.${key}`, child, top);
      }
      return;
    }
    const { 'x-workspace': _, ...rest } = node;
    out[`tandem.${name}`] = { ...rest, scope: scope(top) };
  };
  for (const [name, node] of Object.entries(schema.properties)) {
    add(name, node, name);
  }
  return out;
}

/** The text of package.json with the settings of the schema. */
export function generate() {
  const manifest = JSON.parse(readFileSync(here('../package.json'), 'utf8'));
  const schema = JSON.parse(readFileSync(SCHEMA, 'utf8'));
  manifest.contributes.configuration = [
    { title: 'Tandem', properties: { ...OWN } },
    { title: 'Agent', properties: settings(schema) },
  ];
  manifest.contributes.jsonValidation = [{ fileMatch: FILES, url: './dist/configuration.schema.json' }];
  manifest.contributes.languages = [{ id: 'jsonc', filenamePatterns: FILES }];
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
