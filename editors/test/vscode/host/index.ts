// What VS Code calls in the extension host: runs the suite.

import Mocha from 'mocha';

export async function run(): Promise<void> {
  // A real editor in a real browser misses a focus now and then: what fails is tried once more, and said.
  const mocha = new Mocha({
    ui: 'bdd', timeout: 60_000, color: false, reporter: 'spec', forbidOnly: !!process.env.CI, retries: 1,
  });
  if (process.env.TANDEM_TEST_GREP) {
    mocha.grep(process.env.TANDEM_TEST_GREP);
  }
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  await import('./edits.test.ts');
  await import('./documents.test.ts');
  await import('./languages.test.ts');
  await import('./review.test.ts');
  await import('./server.test.ts');
  await import('./model.test.ts');
  await new Promise<void>((resolve, reject) => {
    mocha
      .run((failures) => (failures ? reject(new Error(`${failures} tests failed`)) : resolve()))
      .on('retry', (test, err) => console.log(`tried again: ${test.fullTitle()}: ${err.message}`));
  });
}
