import { lineCommands, startCamera } from '#sandbox/index.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { addressOf } from './sandbox.ts';

/** To practise with, so that it is no secret. */
const login = { username: 'siteward', password: 'camera-password' };

/** `siteward sandbox camera`: one simulated camera until `quit`, the end of the input, SIGINT or SIGTERM. */
export async function sandboxCamera(options: { readonly listen: string; readonly id: string }): Promise<ExitCode> {
  const camera = await startCamera({ ...addressOf(options.listen), id: options.id, ...login });
  try {
    console.log(`simulated camera ${camera.deviceUrl}  user ${login.username}  password ${login.password}`);
    console.log('type what happens: person on, person off, motion on, tamper on, reboot 5000, stop, start, quit');
    await lineCommands({
      ready: { url: camera.deviceUrl },
      commands: {
        motion: (word) => camera.motion(word === 'on'),
        person: (word) => camera.person(word === 'on'),
        tamper: (word) => camera.tamper(word === 'on'),
        reboot: (ms = '5000') => camera.reboot(Number(ms)),
        stop: () => camera.stop(),
        start: () => camera.start(),
      },
    });
  } finally {
    await camera.close();
  }
  return exitCodes.ok;
}
