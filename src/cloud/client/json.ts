/** JSON keeps 15 digits as they are; a longer number may be an id that a double would change. */
const maybeTooLong = /\d{16}/;

/** What `JSON.parse` of this runtime hands its reviver beside key and value. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * Parses an answer; undefined for what is empty or not JSON. A whole number above 2^53 becomes its digits as text, so
 * that an id stays the id it is (S-192).
 */
export function parseJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return maybeTooLong.test(text)
      ? JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown)
      : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const keepDigits: Reviver = (_, value, { source }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? source
    : value;

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of a JSON object; undefined for any other value. */
export const objectOf = (value: unknown): JsonObject | undefined => (isObject(value) ? value : undefined);
