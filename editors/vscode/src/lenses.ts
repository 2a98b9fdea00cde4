// Has VS Code ask for lenses when they have changed. It asks a moment after it was told so, once for each editor, and drops that where the
// keyboard leaves the editor before. So it is told again until it has asked.

/** How long VS Code has to ask, after each time that it was told. After the last one it is left alone, in case it never asks. */
const ASK_MS = [600, 1200, 2400, 4800];

export class Lenses {
  /** How often VS Code has asked for the lenses of a document since it was told last, or since the document came into sight. */
  private readonly asked = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  /** `tell` tells VS Code. `inSight` has the documents of the editors that it asks for: one that two editors show is in it twice. */
  constructor(
    private readonly tell: () => void,
    private readonly inSight: () => string[],
  ) {}

  dispose(): void {
    clearTimeout(this.timer);
  }

  /** To be called when the lenses of any document have changed. */
  changed(): void {
    this.tellFor(0);
  }

  /** To be called when VS Code asks for those of a document. */
  wereAsked(uri: string): void {
    this.asked.set(uri, (this.asked.get(uri) ?? 0) + 1);
  }

  /** To be called when other editors are in sight; VS Code asks for their lenses by itself. `has` says which documents have some. */
  seen(has: (uri: string) => boolean): void {
    const inSight = this.inSight();
    for (const uri of this.asked.keys()) {
      if (!inSight.includes(uri)) {
        this.asked.delete(uri);
      }
    }
    if (this.timer === undefined && this.unasked().some(has)) {
      this.wait(0);
    }
  }

  private tellFor(round: number): void {
    this.asked.clear();
    this.tell();
    this.wait(round);
  }

  private wait(round: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (round + 1 < ASK_MS.length && this.unasked().length > 0) {
        this.tellFor(round + 1);
      }
    }, ASK_MS[round]);
  }

  /** The documents in sight that were asked for less often than editors show them. */
  private unasked(): string[] {
    const left = new Map(this.asked);
    return this.inSight().filter((uri) => {
      const times = left.get(uri) ?? 0;
      left.set(uri, times - 1);
      return times <= 0;
    });
  }
}
