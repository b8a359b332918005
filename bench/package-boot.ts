import type { Machine } from '../test/system/machine.ts';
import { type Figure, median, rounded } from './figure.ts';

const boots = 3;

/** From the start of the machine's systemd until the service is ready, and the part of it from its exec on. */
export async function bootFigures(box: Machine, tell: (progress: string) => void): Promise<Figure[]> {
  const [whole, own]: [number[], number[]] = [[], []];
  for (let boot = 1; boot <= boots; boot += 1) {
    tell(`boot ${boot} of ${boots}`);
    await box.reboot();
    await box.sh('systemctl start siteward');
    const at = async (name: string, ...unit: readonly string[]) =>
      Number(await box.sh(`systemctl show ${unit.join(' ')} --property=${name} --value`)) / 1000;
    const readyAt = await at('ActiveEnterTimestampMonotonic', 'siteward');
    own.push(readyAt - (await at('ExecMainStartTimestampMonotonic', 'siteward')));
    whole.push(readyAt - (await at('UserspaceTimestampMonotonic')));
  }
  const readyMs = rounded(median(whole));
  return [
    {
      name: 'systemd of a fresh boot to READY',
      value: readyMs,
      unit: 'ms',
      goal: 'running within 2 s',
      met: readyMs <= 2000,
    },
    { name: 'of it from exec on', value: rounded(median(own)), unit: 'ms' },
  ];
}
