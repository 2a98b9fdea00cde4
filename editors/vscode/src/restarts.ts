// How often a server that ends by itself is started anew.

export interface Limit {
  /** Ends within the window that are one too many. */
  ends: number;
  windowMs: number;
}

const DEFAULT: Limit = { ends: 5, windowMs: 3 * 60_000 };

/** Counts the unexpected ends of a server and says when to stop starting it. */
export class Restarts {
  private times: number[] = [];

  constructor(
    private readonly now: () => number = Date.now,
    private readonly limit: Limit = DEFAULT,
  ) {}

  /** Notes an end; gives how long to wait before the next start, or undefined for no more. */
  ended(): number | undefined {
    const now = this.now();
    this.times = this.times.filter((time) => now - time < this.limit.windowMs);
    this.times.push(now);
    if (this.times.length >= this.limit.ends) {
      return undefined;
    }
    return this.times.length === 1 ? 0 : 250 * 2 ** (this.times.length - 2);
  }

  /** Forgets: a person has started the server. */
  reset(): void {
    this.times = [];
  }
}
