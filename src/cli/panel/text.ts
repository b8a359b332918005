/** A topic or payload on a line for people. */
export const shortened = (text: string, most = 160): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

export const percent = (part: number, whole: number): string =>
  whole === 0 ? '-' : `${Math.floor((100 * part) / whole)}%`;
