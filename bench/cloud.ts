import { startCloud } from '#sandbox/cloud/index.ts';

/** A sandbox cloud that tells nobody of its requests; prints its address and runs until SIGTERM. */
const cloud = await startCloud({
  listen: { host: '127.0.0.1', port: 0 },
  clients: [{ clientId: 'bridge-1', publicKeyPem: process.env.PUBLIC_KEY ?? '' }],
});
console.log(cloud.url);
process.once('SIGTERM', () => void cloud.close());
