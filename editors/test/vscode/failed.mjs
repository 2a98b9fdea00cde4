// A reporter for node --test: the files with a test that failed, one a line.
import { relative } from 'node:path';

export default async function* failed(events) {
  // Written at the end: where the run is cut off there are none, since what failed is not all that has to be run again.
  const files = new Set();
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.file) {
      files.add(`${relative('', data.file)}\n`);
    }
  }
  yield [...files].join('');
}
