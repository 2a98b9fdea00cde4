import { visible } from './chat/visible.ts';
import type { SearchedRoot } from './protocol.ts';

/** One line that says how a folder is searched. */
export function searchesOf(root: SearchedRoot): string {
  const files = `${root.files ?? 0} files`;
  const size = `${Math.max(1, Math.round((root.bytes ?? 0) / (1 << 20)))} MiB`;
  const how =
    root.state === 'ready'
      ? `with an index of ${files} (${size})${root.reason ? `; ${root.reason}` : ''}`
      : root.state === 'building'
        ? `an index of ${files} is being built`
        : `without an index${root.reason ? ` (${root.reason})` : ''}`;
  return visible(`Searches of ${root.root}: ${how}`, false);
}
