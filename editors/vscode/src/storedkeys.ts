// API keys as the secret storage keeps them: one JSON object, by environment variable.

const UNREADABLE = 'The saved API keys cannot be read. Set them again with “Tandem: Set API Key”.';

/** The keys that are stored. What cannot be read is none, and `tell` has a sentence for the person: without a key most things work. */
export async function storedKeys(
  get: () => PromiseLike<string | undefined>,
  tell: (text: string) => void,
): Promise<Record<string, string>> {
  try {
    const value: unknown = JSON.parse((await get()) || '{}');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return Object.fromEntries(Object.entries(value).filter((e): e is [string, string] => typeof e[1] === 'string'));
    }
  } catch {
    // The error quotes what it could not read, which belongs in no log.
  }
  tell(UNREADABLE);
  return {};
}
