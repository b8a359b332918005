import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { parseConfig } from '#config/index.ts';

/** `http.control_socket` of a configuration file, whatever else is wrong with it; undefined where it names none. */
export function socketOf(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Who reads the file says why it cannot.
    return undefined;
  }
  const { value } = parseConfig(file, text);
  const path = (value as { http?: { control_socket?: unknown } | null } | null | undefined)?.http?.control_socket;
  return typeof path === 'string' && isAbsolute(path) ? path : undefined;
}
