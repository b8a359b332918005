/** A secret in memory. It prints, serialises and inspects as `[secret]`; only `reveal` gives the text. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]';
  }
}

/** Blanks what looks like a token in text that somebody else wrote: servers echo what they were sent. */
export const withoutTokens = (text: string): string =>
  text
    .replaceAll(/\bBearer[\s\p{Cc}]+\S+/giu, 'Bearer [secret]')
    .replaceAll(/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)*/g, '[secret]');

/**
 * Blanks known secrets by value in any text that leaves the process. Holds at most 1,000 values; values shorter than
 * four characters are not redacted by value, since they would blank ordinary text.
 */
export interface Redactor {
  add(secret: Secret): void;
  redact(text: string): string;
}

export function redactor(): Redactor {
  const values = new Set<string>();
  return {
    add(secret) {
      const text = secret.reveal();
      if (text.length < 4 || values.size >= 1000) return;
      for (const form of [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]) values.add(form);
      // Multi-line keys are logged line by line if at all.
      for (const line of text.split('\n')) if (line.length >= 16) values.add(line);
    },
    redact(text) {
      let result = text;
      for (const value of values) if (result.includes(value)) result = result.replaceAll(value, '[secret]');
      return result;
    },
  };
}
