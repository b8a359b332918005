import { sha256 } from './digest.ts';
import { Secret } from './secret.ts';

/** A text that is equal exactly when the settings are; secrets enter as their hash. */
export function settingsKey(value: unknown): string {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name: string, shown: unknown) {
    const original = this[name];
    return original instanceof Secret ? sha256(original.reveal()) : shown;
  });
  return text ?? '';
}
