/**
 * Characters that no name for people holds: control characters, those that turn the writing direction round or end a line, and halves of
 * a character. They show another name than there is, or break the line, in a log, a terminal or a page.
 */
const odd = /[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}]+/gu;

export const isCleanName = (name: string): boolean => name.search(odd) === -1;
export const cleanNameRule =
  'must not hold control characters, such that turn the writing direction round, or halves of characters';

/** A device's own words, as people may be shown them; at most `cap` characters. */
export const cleanWords = (text: string, cap: number): string => text.replaceAll(odd, ' ').trim().slice(0, cap);
