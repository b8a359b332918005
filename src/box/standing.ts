import type { PartitionEntry } from '#lan/http/index.ts';

/** How a partition stands, as everybody may know: silent alarms are in none of it (safety 4). */
export type Standing = Pick<PartitionEntry, 'id' | 'name' | 'state' | 'stale' | 'alarm' | 'alarms'>;

/** As people and as programs know it: `partition Shop (p1)`. */
export const partitionText = ({ id, name }: Pick<Standing, 'id' | 'name'>): string =>
  name === id ? `partition ${id}` : `partition ${name} (${id})`;

export const isInAlarm = ({ alarm, alarms = [] }: Standing): boolean => alarm !== null || alarms.length > 0;
