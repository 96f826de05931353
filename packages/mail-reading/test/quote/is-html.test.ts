import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHtml } from '#quote/body-parts.ts'

test('a body that begins with markup rendered by browsers is HTML', () => {
  const bodies = [
    '<!DOCTYPE html><html></html>',
    '<!doctype html>',
    '<html>',
    '<p>x</p>',
    ' \r\n\t<DIV class="x">x',
    '\ufeff<p>x',
    '\u00a0<p>x',
    '<!-- a > b --><p>x',
    '<!-- a -->\n<!-- b -->\n<p>x',
    '<?xml version="1.0"?><!DOCTYPE html>',
    '<![if !mso]><p>x<![endif]>',
    '<br/>',
    '<br>',
    '<hr />',
    '<center>x',
    '<font color=red>x',
    '<a href="https://peer.example">x</a>',
    '<h1>x</h1>',
    '<table\n>',
    '<svg></svg>',
    '<b>x</b>',
    '<!----><p>x',
  ]
  for (const body of bodies) assert.equal(isHtml(body), true, body)
})

test('every other body is plain text', () => {
  const bodies = [
    ...`<a@b.example> <b.c@d.example> <3 <https://peer.example/> <unknowntag>x</unknowntag>
    <notes> <p-like>x <my-element>x </p> </div>x <p <br <!doctypehtml <> &lt;p&gt;`.split(/\s+/),
    '',
    '   ',
    'Hello <b>Bob</b>',
    '<john@example.com> wrote',
    '<- see',
    '< p >x',
    '<p and no end',
    '<!-- only a comment -->',
    '<!-- never closed <p>x',
    '<!-- x --> Hello <p>',
  ]
  for (const body of bodies) assert.equal(isHtml(body), false, body)
})

test('time to classify a long body grows linearly', () => {
  for (const body of [
    '<!-- -->'.repeat(100_000),
    '<!'.repeat(500_000),
    `<p ${'<'.repeat(1_000_000)}`,
  ]) {
    assert.equal(isHtml(body), false)
  }
})
