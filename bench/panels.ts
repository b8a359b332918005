import { join } from 'node:path';
import { compileProfile, emptyMemory, interpret, loadProfile } from '#devices/panels/index.ts';
import type { Measurement } from './figure.ts';
import { rounded } from './figure.ts';

const profiles = join(import.meta.dirname, '..', 'config', 'panels');
const forMs = 1500;

/** Messages of the kinds each bridge sends, in about the mix of a busy site. */
const traffic: Readonly<Record<string, readonly (readonly [topic: string, payload: string])[]>> = {
  pai: [
    ['paradox/states/zones/Front_door/open', 'True'],
    ['paradox/states/zones/Front_door/open', 'False'],
    ['paradox/states/zones/Hall/tamper', 'False'],
    ['paradox/states/partitions/Area_1/current_state', 'armed_away'],
    ['paradox/states/partitions/Area_1/current_state', 'disarmed'],
    ['paradox/states/partitions/Area_1/ready_status', 'True'],
  ],
  'dsc-keybus': [
    ['dsc/Get/Zone1', '1'],
    ['dsc/Get/Zone1', '0'],
    ['dsc/Get/Partition1', 'armed_away'],
    ['dsc/Get/Partition1', 'disarmed'],
    ['dsc/Get/Fire1', '0'],
    ['dsc/Get/Trouble', '0'],
  ],
  zigbee2mqtt: [
    ['zigbee2mqtt/front_door', '{"contact":false,"battery":97,"battery_low":false,"tamper":false,"linkquality":120}'],
    ['zigbee2mqtt/hall', '{"occupancy":true,"battery":80,"illuminance":12,"linkquality":99}'],
    ['zigbee2mqtt/kitchen', '{"smoke":false,"battery":97,"linkquality":120}'],
    ['zigbee2mqtt/front_door/availability', '{"state":"online"}'],
  ],
};

/** How many messages a second the profile interpreter reads. */
export const panels: Measurement = {
  name: 'panels',
  title: 'Panel messages through the profile interpreter',
  about: `Pure reading of messages by the three presets, in one thread, with the memory carried on: what a message costs before the
core sees it. Every message of the mix is one the preset understands.`,
  async run(tell) {
    return Object.entries(traffic).map(([id, mix]) => {
      tell(id);
      return { name: id, value: rounded(rate(id, mix)), unit: 'messages/s' };
    });
  },
};

function rate(id: string, mix: readonly (readonly [string, string])[]): number {
  const compiled = compileProfile(loadProfile(id, [profiles]));
  const messages = mix.map(([topic, text]) => ({ topic, payload: Buffer.from(text), retain: false }));
  const unread = messages.find((message) => interpret(compiled, emptyMemory(), message).readings.length === 0);
  if (unread !== undefined) throw new Error(`the preset ${id} does not read ${unread.topic}`);
  let memory = emptyMemory();
  const runFor = (ms: number) => {
    const end = performance.now() + ms;
    let count = 0;
    while (performance.now() < end) {
      for (let turn = 0; turn < 100; turn += 1) {
        for (const message of messages) memory = interpret(compiled, memory, message).memory;
      }
      count += 100 * messages.length;
    }
    return count;
  };
  runFor(forMs / 5);
  const began = performance.now();
  const count = runFor(forMs);
  return (count / (performance.now() - began)) * 1000;
}
