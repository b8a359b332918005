import type { StoreAnswers, StoreCall } from './protocol.ts';

/** The memory port: what a room must remember over a restart (subscription addresses, hold times, pins). */
export interface Memory {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
}

export interface RoomMemory extends Memory {
  keys(): Promise<readonly string[]>;
}

const keyBytes = 128;

export function roomMemory(
  ask: <Call extends StoreCall>(call: Call, bytes?: number) => Promise<StoreAnswers[Call['op']]>,
  room: string,
): RoomMemory {
  return {
    get: (key) => ask({ op: 'recall', room, key }),
    set: (key, value) => ask({ op: 'remember', room, key, value }, value.length + keyBytes),
    delete: (key) => ask({ op: 'forget', room, key }),
    keys: () => ask({ op: 'keys', room }),
  };
}
