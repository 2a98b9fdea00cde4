// Finds the program of the server.

import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

export interface Places {
  /** The setting; empty for none. */
  configured: string;
  /** The folder of the extension, which may have the program in `bin`. */
  extension: string;
  /** PATH. */
  path: string;
  home: string;
  windows: boolean;
}

export type Found = { program: string; from: 'setting' | 'bundle' | 'PATH' } | { missing: string };

async function runs(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** The program that is set, or else the one that came with the extension, or else the first in PATH. */
export async function findProgram(places: Places): Promise<Found> {
  const name = places.windows ? 'tandem.exe' : 'tandem';
  const configured = places.configured.trim().replace(/^~(?=$|[\\/])/, () => places.home);
  if (configured !== '' && (isAbsolute(configured) || /[\\/]/.test(configured))) {
    if (!isAbsolute(configured)) {
      return { missing: `tandem.path is "${configured}", which is not absolute.` };
    }
    return (await runs(configured))
      ? { program: configured, from: 'setting' }
      : { missing: `tandem.path is "${configured}", which is not a program.` };
  }
  if (configured === '') {
    const bundled = join(places.extension, 'bin', name);
    if (await runs(bundled)) {
      return { program: bundled, from: 'bundle' };
    }
  }
  for (const folder of places.path.split(delimiter)) {
    const file = join(folder, configured || name);
    if (isAbsolute(folder) && (await runs(file))) {
      return { program: file, from: configured ? 'setting' : 'PATH' };
    }
  }
  return { missing: `The program "${configured || name}" was not found in PATH.` };
}
