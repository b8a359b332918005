import { SitewardError } from '#errors.ts';
import { keysOf } from '#lib/dc09/index.ts';
import type { Secret } from '#lib/secret.ts';
import { createMapping } from './mapping.ts';
import type { PanelOptions } from './options.ts';

/** What only the whole of a panel's entry shows to be wrong: its key is none, or two zones have one number. */
export function keyProblem(
  panel: Omit<PanelOptions, 'code' | 'dc09'> & { readonly dc09?: { readonly key?: Secret } | undefined },
): { readonly at: readonly string[]; readonly message: string } | undefined {
  const { dc09, ...rest } = panel;
  if (dc09?.key !== undefined && keysOf(dc09.key.reveal()).length === 0)
    return {
      at: ['dc09', 'key'],
      message: 'is no AES key: it must be 16, 24 or 32 characters, or 32, 48 or 64 hex digits',
    };
  try {
    createMapping(rest, { zone: 'number', partition: 'number' });
    return undefined;
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    return { at: ['zones'], message: error.message };
  }
}
