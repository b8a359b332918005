import { withoutTokens } from '#lib/secret.ts';

/** Words from elsewhere for a log line or a terminal: without tokens and control characters, at most 240 characters. */
export const shownWords = (text: string): string =>
  withoutTokens(text)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, 240);
