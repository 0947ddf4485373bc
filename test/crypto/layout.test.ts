import { describe, expect, it } from 'vitest';
import { DEFAULT_LAYOUT, parseLayout } from '../../src/crypto/layout.ts';

const names = { iv: 'iv', tag: 'tag', data: 'data' };

describe('ENCRYPTION_LAYOUT', () => {
  it('has a default that is one', () => {
    expect(parseLayout(DEFAULT_LAYOUT)).toMatchObject({
      covers: 'body',
      form: 'bytes',
      ivLength: 12,
      tagFirst: false,
    });
  });

  it.each([
    ['iv12.tag16.ciphertext', { ivLength: 12, tagFirst: true, form: 'bytes' }],
    ['iv16.ciphertext.tag16', { ivLength: 16, tagFirst: false }],
    ['iv16.tag16.ciphertext', { ivLength: 16, tagFirst: true }],
    ['iv12.ciphertext.tag16:base64', { form: 'base64' }],
    ['iv16.tag16.ciphertext:hex', { form: 'hex', ivLength: 16, tagFirst: true }],
    ['json', { form: 'envelope', names, encoding: 'base64', covers: 'body' }],
    ['json:hex', { form: 'envelope', names, encoding: 'hex' }],
    ['json:iv=nonce,tag=mac', { names: { iv: 'nonce', tag: 'mac', data: 'data' } }],
    ['json:hex:data=text', { encoding: 'hex', names: { ...names, data: 'text' } }],
    ['payload/iv12.ciphertext.tag16:base64', { covers: 'payload', form: 'base64' }],
    ['payload/iv12.ciphertext.tag16', { covers: 'payload', form: 'base64' }],
    ['payload/json', { covers: 'payload', form: 'envelope' }],
  ])('%s is understood', (text, layout) => {
    expect(parseLayout(text)).toMatchObject(layout);
  });

  it.each([
    '',
    'iv12',
    'iv13.ciphertext.tag16',
    'iv12.ciphertext.tag12',
    'base64',
    'base64:iv12.ciphertext.tag16',
    'iv12.ciphertext.tag16:iv=a',
    'iv12.ciphertext.tag16:utf8',
    'json:key=x',
    'json:iv=',
    'json:iv=a=b',
    'json:iv=data',
    'json:iv=a,tag=a',
    'payload/',
    'json:__proto__=x',
  ])('%j is none', (text) => {
    expect(parseLayout(text)).toBeNull();
  });
});
