// Bundles the extension and its web page. "--watch" keeps doing so, "--dev" leaves them readable.
import * as esbuild from 'esbuild';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

const watch = process.argv.includes('--watch');
const dev = watch || process.argv.includes('--dev');
const common = { absWorkingDir: here, bundle: true, minify: !dev, sourcemap: dev, logLevel: 'warning', legalComments: 'none', metafile: true };

const builds = [
  {
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
  },
  {
    ...common,
    entryPoints: ['webview/main.ts', 'webview/main.css'].filter((path) => existsSync(here + path)),
    outdir: 'dist/webview',
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    loader: { '.svg': 'dataurl' },
  },
].filter((b) => b.entryPoints.length > 0);

/** The licences of what has gone into the bundles. */
function notices(results) {
  const inputs = results.flatMap((result) => Object.keys(result.metafile.inputs));
  const packages = new Set(inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  return [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${here}${folder}/package.json`, 'utf8'));
    const file = readdirSync(here + folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(`${here}${folder}/${file}`, 'utf8').trim() : '';
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
}

if (watch) {
  await Promise.all(builds.map(async (b) => (await esbuild.context(b)).watch()));
} else {
  const results = await Promise.all(builds.map((b) => esbuild.build(b)));
  // For the files of the configuration, see jsonValidation in package.json.
  copyFileSync(`${here}../../docs/configuration.schema.json`, `${here}dist/configuration.schema.json`);
  writeFileSync(`${here}dist/NOTICES.txt`, notices(results).join(`\n${'-'.repeat(80)}\n\n`));
}
