import type { Command } from 'commander';
import type { CameraVerbs } from './camera.ts';
import { exitCodes } from './exit-codes.ts';

/** `siteward camera discover`: what cameras there are. */
export function addDiscover(camera: Command, { done }: CameraVerbs): void {
  camera
    .command('discover')
    .description('find cameras and recorders on the network; nothing is added by itself')
    .action(async () => {
      console.error('siteward: this verb is not built yet');
      done(exitCodes.failure);
    });
}
