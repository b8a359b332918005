import { readFile } from 'node:fs/promises';

/** MAC addresses of this network by IPv4 address, as far as this machine has just talked to them. Empty where it cannot be told. */
export async function readNeighbours(file = '/proc/net/arp'): Promise<ReadonlyMap<string, string>> {
  try {
    return neighboursIn(await readFile(file, 'utf8'));
  } catch {
    return new Map();
  }
}

export function neighboursIn(table: string): ReadonlyMap<string, string> {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  return new Map(
    rows.flatMap(([address = '', , , mac = '']) =>
      /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac) && mac !== unanswered ? [[address, mac.toLowerCase()] as const] : [],
    ),
  );
}

/** Somebody who was asked for and did not answer. */
const unanswered = '00:00:00:00:00:00';
