import { vi } from 'vitest';

const open = () => process.getActiveResourcesInfo().filter((name) => /^(TCP|TLS)/.test(name) && !/Server/.test(name));

/** The connections this process has open, after those which are being closed. */
export async function openSockets(): Promise<readonly string[]> {
  await vi.waitUntil(() => open().length === 0, { timeout: 2000, interval: 10 }).catch(() => undefined);
  return open();
}
