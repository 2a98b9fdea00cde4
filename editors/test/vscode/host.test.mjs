// The suite of the extension host, in every version of VS Code that is tested.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VERSIONS, missing } from './drive.mjs';
import { suite } from './host.mjs';

describe('in the extension host', () => {
  for (const version of VERSIONS) {
    const reason = missing(version);
    if (reason && process.env.CI) {
      throw new Error(reason);
    }
    it(`of code-server ${version}`, { skip: reason, timeout: 300_000 }, async (t) => {
      const said = [];
      const code = await suite(version, (...words) => said.push(words.join(' ')));
      if (code !== 0) {
        console.log(said.join('\n'));
      } else {
        said.filter((line) => /^\s*\d+ passing|^loading takes|^tried again|exit code/.test(line)).forEach((line) => t.diagnostic(line.trim()));
      }
      // What failed stands at the end of the run too, which is all that some show of it.
      const summary = said.findLastIndex((line) => /^\s*\d+ passing/.test(line));
      assert.equal(code, 0, said.slice(Math.max(0, summary, said.length - 40)).join('\n'));
    });
  }
});
