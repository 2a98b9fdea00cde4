// Says so where no server goes into the package. With a folder as the argument it looks there, not in bin.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2] ?? fileURLToPath(new URL('../bin', import.meta.url));
if (!['tandem', 'tandem.exe'].some((name) => existsSync(join(folder, name)))) {
  console.warn(
    'WARNING: there is no server in this package. It works only where a program "tandem" is in PATH, or where the setting ' +
      'tandem.path names one. "npm run bundle" puts the one for this kind of machine into it.',
  );
}
