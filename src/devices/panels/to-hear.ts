import type { ZoneType } from '#site/model/index.ts';

/** Life safety depends on no test mode (safety 1). */
const real = 'that is a real alarm, so tell the monitoring station first';
const button = `press its test button once: ${real}`;
const call = `press it once: ${real}`;

const ways: Readonly<Partial<Record<ZoneType, string>>> = {
  fire: button,
  co: button,
  gas: button,
  water: `wet it once: ${real}`,
  medical: call,
  panic_audible: call,
};

/** What makes a zone speak for the first time, after "Check the key, or". */
export const toHear = (type: ZoneType): string => ways[type] ?? 'open and close it once';
