/** Stands for the daemon: plays a long tone, and tells when the first sample was handed over, and whether it sounded to its end. */
import { createAlsaDriver } from '#devices/audio/drivers/alsa.ts';
import { createPlayers } from '#devices/audio/drivers/child.ts';
import { createCommandDriver } from '#devices/audio/drivers/command.ts';
import { createPulseDriver } from '#devices/audio/drivers/pulse.ts';
import { never } from '#lib/wait.ts';
import { tone } from './tone.ts';

const [kind, device = '', server = ''] = process.argv.slice(2);
const players = createPlayers();
const command = ['aplay', '--quiet', `--device=${device}`, '--buffer-time=200000', '-'] as const;
const driver =
  kind === 'pulse'
    ? createPulseDriver({ sink: device, server, players })
    : kind === 'alsa'
      ? createAlsaDriver({ device, players })
      : createCommandDriver({ command, folder: '/nowhere', players });
const onFirstSample = () => void process.stdout.write(`${performance.timeOrigin + performance.now()}\n`);
await driver.play(tone({ ms: 20_000 }), { signal: never(), onFirstSample });
