export * from './cloud/index.ts';
