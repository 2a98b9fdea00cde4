-- Unit tests of the plugin's modules, run inside each Neovim:  nvim --clean --headless -l unit.lua PLUGIN [SEED]
local plugin, seed = arg[1], tonumber(arg[2] or '1')
vim.opt.runtimepath:prepend(plugin)
vim.o.swapfile = false

local documents = require('tandem.documents')
local edits = require('tandem.edits')
local api = vim.api
local dir = vim.fn.tempname()
vim.fn.mkdir(dir, 'p')

local passed, failures = 0, 0
local function test(name, fn)
  local ok, err = xpcall(fn, debug.traceback)
  if not ok then
    failures = failures + 1
  end
  passed = passed + (ok and 1 or 0)
  if not ok then
    io.stdout:write('FAIL ', name, '\n', err, '\n')
  end
end

local function equal(got, want, what)
  if not vim.deep_equal(got, want) then
    error(('%s\n got: %s\nwant: %s'):format(what or 'not equal', vim.inspect(got), vim.inspect(want)), 2)
  end
end

--- The answer to an edit that was made: it names the version that the server was told of with it.
local function landed(server, uri)
  return { applied = true, tandem = { versions = { { uri = uri, version = server.docs[uri].version } } } }
end

local function eventually(what, holds)
  assert(vim.wait(5000, holds, 5), 'it never came that ' .. what)
end

-- The server's side of the protocol, as plainly as it can be written: a string and its changes. ----

local function offset_of(text, pos)
  local at = 0
  for _ = 1, pos.line do
    local nl = assert(text:find('[\r\n]', at + 1), 'line outside the text')
    if text:sub(nl, nl + 1) == '\r\n' then
      nl = nl + 1
    end
    at = nl
  end
  local line_end = (text:find('[\r\n]', at + 1) or #text + 1) - 1
  assert(at + pos.character <= line_end, 'character outside the line')
  return at + pos.character
end

local function position_of(text, offset)
  local line, at = 0, 0
  while true do
    local nl = text:find('[\r\n]', at + 1)
    if nl and text:sub(nl, nl + 1) == '\r\n' then
      nl = nl + 1
    end
    if not nl or nl > offset then
      return { line = line, character = offset - at }
    end
    line, at = line + 1, nl
  end
end

local function apply_changes(text, changes)
  for _, change in ipairs(changes) do
    local from, to = offset_of(text, change.range.start), offset_of(text, change.range['end'])
    assert(from <= to, 'range backwards')
    text = text:sub(1, from) .. change.text .. text:sub(to + 1)
  end
  return text
end

-- A server that holds what it was told.
local function new_server()
  local server = { docs = {}, log = {} }
  server.documents = documents.new(dir, function(method, params)
    server.log[#server.log + 1] = method
    local uri = params.textDocument.uri
    if method == 'textDocument/didOpen' then
      server.docs[uri] = { text = params.textDocument.text, version = params.textDocument.version }
    elseif method == 'textDocument/didChange' then
      local doc = server.docs[uri]
      equal(params.textDocument.version, doc.version + 1, 'version')
      doc.version = doc.version + 1
      doc.text = apply_changes(doc.text, params.contentChanges)
    elseif method == 'textDocument/didClose' then
      server.docs[uri] = nil
    end
  end)
  server.stop = server.documents:follow(function() end)
  return server
end

local function write(path, content)
  local f = assert(io.open(path, 'wb'))
  f:write(content)
  f:close()
end

local count = 0
local function file(content)
  count = count + 1
  local path = vim.fs.joinpath(dir, ('f%d.txt'):format(count))
  write(path, content)
  return path
end

local function open(content)
  local path = file(content)
  vim.cmd.edit(path)
  return api.nvim_get_current_buf(), path, vim.uri_from_fname(path)
end

local function on_disk(path)
  local f = assert(io.open(path, 'rb'))
  local content = f:read('*a')
  f:close()
  return content
end

-- What the buffer holds, by another road than the plugin's: what Neovim would write, line end at the end as it stands.
local function written(buf)
  local copy = vim.fs.joinpath(dir, 'copy')
  vim.bo[buf].fixendofline = false
  api.nvim_buf_call(buf, function()
    vim.cmd('silent noautocmd keepalt write! ++p ' .. vim.fn.fnameescape(copy))
  end)
  return on_disk(copy)
end

local function edit_of(uri, version, list)
  return { documentChanges = { { textDocument = { uri = uri, version = version }, edits = list } } }
end

local function text_edit(text, from, to, new)
  return { range = { start = position_of(text, from), ['end'] = position_of(text, to) }, newText = new }
end

-- Synchronisation ----------------------------------------------------------------------------------

local TEXTS = {
  { '', 'empty' },
  { '\n', 'one line end' },
  { 'a', 'no final line end' },
  { 'a\n', 'one line' },
  { 'a\nb', 'two lines, no final line end' },
  { 'one\ntwo\nthree\n', 'three lines' },
  { 'one\r\ntwo\r\n', 'dos' },
  { 'one\r\ntwo', 'dos, no final line end' },
  { 'one\r\ntwo\nthree\r\n', 'mixed' },
  { 'a\rb\nc\r\rd\n', 'carriage returns inside lines' },
  { 'tail\r', 'a carriage return at the end' },
  { 'ä😀b\nsüß 漢字\n', 'wide characters' },
  { 'a\0b\nc\n', 'a NUL' },
}

for _, case in ipairs(TEXTS) do
  test('opens: ' .. case[2], function()
    local server = new_server()
    local _, _, uri = open(case[1])
    equal(server.docs[uri] and server.docs[uri].text, case[1])
    server.stop()
  end)
end

test('a file that is not UTF-8 is not opened', function()
  local server = new_server()
  local path = vim.fs.joinpath(dir, 'bytes.txt')
  write(path, 'a\255b')
  vim.cmd('edit ++enc=utf-8 ++bad=keep ' .. path)
  equal(server.docs[vim.uri_from_fname(path)], nil)
  server.stop()
end)

local KEYS = {
  'ggOabove<Esc>', 'Gobelow<Esc>', 'ggdd', 'Gdd', 'x', 'A end<Esc>', 'Iä😀<Esc>', 'ddp', 'J', 'yyP', 'u',
  '<C-r>', 'dG', 'ggdG', 'cchello<Esc>', '>>', '3J', 'yyGp', 'ylp', 'r😀', 'Vjd', 'O<Esc>', 'o<Esc>', '~',
  'vjcz<Esc>', 'g-', 'a<C-v><C-m>x<Esc>', 'kJx', ':%s/a/bb/ge<CR>', ':sort<CR>', ':%join<CR>', ':move 0<CR>',
  ':set noeol<CR>', ':set eol<CR>', ':set ff=dos<CR>', ':set ff=unix<CR>', ':set ff=mac<CR>', ':g/e/d<CR>',
  ':silent write<CR>', ':silent edit!<CR>', ':earlier 3<CR>', ':later 2<CR>', ':%d<CR>',
}

test('whatever is typed, the server holds the text that would be written', function()
  math.randomseed(seed)
  for round = 1, 150 do
    local case = TEXTS[math.random(#TEXTS)]
    local server = new_server()
    local buf, _, uri = open(case[1])
    local keys = {}
    for _ = 1, 12 do
      keys[#keys + 1] = KEYS[math.random(#KEYS)]
      pcall(vim.cmd, 'silent! execute "normal! ' .. keys[#keys]:gsub('<(.-)>', '\\<%1>'):gsub('"', '\\"') .. '"')
      local want = written(buf)
      vim.bo[buf].fixendofline = true
      vim.wait(0)
      local doc = server.docs[uri]
      if doc then
        equal(doc.text, want, ('round %d, %s: %s'):format(round, case[2], table.concat(keys, ' ')))
        equal(server.documents:text(buf), want)
      end
    end
    server.stop()
    vim.cmd('bwipeout!')
  end
end)

test('a keystroke is told at once and as itself', function()
  local server = new_server()
  local _, _, uri = open('one\ntwo\nthree\n')
  local seen
  local notify = server.documents.notify
  server.documents.notify = function(method, params)
    seen = params.contentChanges
    notify(method, params)
  end
  vim.cmd('normal! jAx')
  local at = { line = 1, character = 3 }
  equal(seen, { { range = { start = at, ['end'] = at }, text = 'x' } })
  equal(server.docs[uri].version, 2)
  server.stop()
end)

test('the line end that writing adds is part of the text', function()
  local server = new_server()
  local _, path, uri = open('x')
  vim.cmd('silent write')
  equal({ on_disk(path), server.docs[uri].text }, { 'x\n', 'x\n' })
  equal(vim.bo.modified, false)
  server.stop()
end)

test('rename, write and unload are told', function()
  local server = new_server()
  local _, path, uri = open('x\n')
  vim.cmd('silent saveas ' .. path .. '.new')
  equal(server.docs[uri], nil)
  equal(server.docs[uri .. '.new'].text, 'x\n')
  equal(server.log[#server.log], 'textDocument/didSave')
  vim.cmd('bdelete')
  equal(server.docs[uri .. '.new'], nil)
  server.stop()
end)

test('the version goes on when a file is opened again', function()
  local server = new_server()
  local _, path, uri = open('x\n')
  vim.cmd('normal! Ay')
  vim.cmd('bdelete!')
  vim.cmd.edit(path)
  equal(server.docs[uri].version, 3)
  server.stop()
end)

-- Edits --------------------------------------------------------------------------------------------

test('random edits land as on a string', function()
  math.randomseed(seed)
  local pieces = { '', 'x', '\n', 'new\n', 'a\nb', '😀', '\nz', 'p\nq\n' }
  for round = 1, 400 do
    local case = TEXTS[math.random(#TEXTS)]
    local server = new_server()
    local buf, _, uri = open(case[1])
    local text = case[1]
    local crlf = vim.bo[buf].fileformat == 'dos'
    -- Cut points that split neither a character nor a CRLF.
    local cuts = {}
    for i = 0, #text do
      local b = text:byte(i + 1)
      if not (b and b >= 0x80 and b < 0xC0) and not (i > 0 and text:sub(i, i + 1) == '\r\n') then
        cuts[#cuts + 1] = i
      end
    end
    local points = {}
    for _ = 1, 2 * math.random(3) do
      points[#points + 1] = cuts[math.random(#cuts)]
    end
    table.sort(points)
    local list, want, at = {}, {}, 0
    for i = 1, #points, 2 do
      local new = pieces[math.random(#pieces)]
      if crlf then
        new = new:gsub('\n', '\r\n')
      end
      list[#list + 1] = text_edit(text, points[i], points[i + 1], new)
      want[#want + 1] = text:sub(at + 1, points[i]) .. new
      at = points[i + 1]
    end
    want = table.concat(want) .. text:sub(at + 1)
    local what = ('round %d, %s: %s'):format(round, case[2], vim.inspect(list))
    equal(edits.apply(server.documents, edit_of(uri, 1, list)), landed(server, uri), what)
    equal(server.docs[uri].text, want, what)
    equal(written(buf), want, what)
    local messages = #vim.tbl_filter(function(m)
      return m == 'textDocument/didChange'
    end, server.log)
    assert(messages <= 1, 'more than one didChange')
    server.stop()
    vim.cmd('bwipeout!')
  end
end)

test('an edit for another text is refused and changes nothing', function()
  local server = new_server()
  local buf, _, uri = open('one\ntwo\n')
  local edit = edit_of(uri, 1, { text_edit('one\ntwo\n', 0, 3, 'ONE') })
  vim.cmd('normal! Ax')
  equal(edits.apply(server.documents, edit), { applied = false, failureReason = 'version' })
  equal(written(buf), 'onex\ntwo\n')
  edit.documentChanges[1].textDocument.version = 2
  equal(edits.apply(server.documents, edit), landed(server, uri))
  equal(written(buf), 'ONEx\ntwo\n')
  edit.documentChanges[1].textDocument.version = 7
  equal(edits.apply(server.documents, edit).applied, false)
  server.stop()
end)

test('a document that is not checked is not changed beside one that is', function()
  local server = new_server()
  local first, _, first_uri = open('one\n')
  local second, _, second_uri = open('two\n')
  local edit = edit_of(first_uri, 1, { text_edit('one\n', 0, 3, 'ONE') })
  vim.list_extend(edit.documentChanges, edit_of(second_uri, 9, { text_edit('two\n', 0, 3, 'TWO') }).documentChanges)
  equal(edits.apply(server.documents, edit).failureReason, 'version')
  equal({ written(first), written(second) }, { 'one\n', 'two\n' })
  server.stop()
end)

test('FindingU5 a buffer that is read-only, or not to be modified, refuses at once and says how it would not', function()
  local server = new_server()
  local buf, path, uri = open('one\n')
  local list = { text_edit('one\n', 0, 1, 'x') }
  vim.bo[buf].modifiable = false
  local reply, why = edits.apply(server.documents, edit_of(uri, 1, list))
  equal(reply, nil)
  assert(why:find('cannot be modified in Neovim; :set modifiable', 1, true), why)
  vim.bo[buf].modifiable, vim.bo[buf].readonly = true, true
  reply, why = edits.apply(server.documents, edit_of(uri, 1, list))
  equal(reply, nil)
  assert(why:find(vim.fs.basename(path) .. ' is read-only in Neovim; :set noreadonly', 1, true), why)
  vim.bo[buf].readonly = false
  equal(edits.apply(server.documents, edit_of(uri, 1, list)), landed(server, uri))
  -- A file without the permission to be written, which is not open.
  local closed = file('closed\n')
  vim.uv.fs_chmod(closed, 292)
  reply, why = edits.apply(server.documents, edit_of(vim.uri_from_fname(closed), nil, {}))
  equal(reply, nil)
  assert(why:find('read-only', 1, true), why)
  server.documents:release()
  equal(vim.fn.bufloaded(closed), 0)
  server.stop()
end)

test('FindingS19 a file that is loaded for an edit does not have its modeline or its folder obeyed', function()
  local server = new_server()
  _G.ran = {}
  local group = api.nvim_create_augroup('hostile', {})
  for _, event in ipairs({ 'BufReadPre', 'BufReadPost', 'FileType', 'BufWritePre', 'BufEnter' }) do
    api.nvim_create_autocmd(event, {
      group = group,
      pattern = '*',
      callback = function(e)
        if e.file:find('hostile') then
          _G.ran[#_G.ran + 1] = event
        end
      end,
    })
  end
  vim.o.modeline = true
  local path = vim.fs.joinpath(dir, 'hostile.lua')
  local text = '-- vim: set ft=c foldmethod=expr sw=7 noeol readonly nomodifiable :\nreturn 1\n'
  write(path, text)
  local uri = vim.uri_from_fname(path)
  equal(edits.apply(server.documents, edit_of(uri, nil, {})), { applied = false, failureReason = 'version' })
  local buf = vim.fn.bufnr(path)
  equal({ _G.ran, vim.bo[buf].filetype, vim.bo[buf].readonly, vim.bo[buf].modifiable }, { {}, '', false, true })
  assert(vim.bo[buf].shiftwidth ~= 7)
  local list = { text_edit(text, #text - 2, #text - 1, '2') }
  equal(edits.apply(server.documents, edit_of(uri, server.docs[uri].version, list)), landed(server, uri))
  equal(server.documents:save(path), nil)
  equal({ on_disk(path), _G.ran }, { (text:gsub('1\n$', '2\n')), {} })
  equal(server.log[#server.log], 'textDocument/didSave')
  -- Somebody comes to see it: now it is what every buffer is.
  vim.cmd('filetype on')
  vim.cmd.buffer(buf)
  assert(vim.list_contains(_G.ran, 'BufReadPost'), vim.inspect(_G.ran))
  equal({ vim.bo[buf].filetype, vim.bo[buf].shiftwidth }, { 'c', 7 })
  vim.cmd('filetype off')
  server.documents:release()
  equal(vim.fn.bufloaded(buf), 1)
  api.nvim_del_augroup_by_id(group)
  vim.cmd('bwipeout! ' .. buf)
  server.stop()
end)

test('FindingNotebooks what is changed in another form than its text is told, and takes no edit', function()
  local server = new_server()
  local group = api.nvim_create_augroup('notebooks', {})
  api.nvim_create_autocmd('BufReadCmd', {
    group = group,
    pattern = '*.ipynb',
    callback = function(e)
      api.nvim_buf_set_lines(e.buf, 0, -1, true, { '# a cell' })
      vim.bo[e.buf].modified = false
    end,
  })
  api.nvim_create_autocmd('BufWriteCmd', {
    group = group,
    pattern = '*.ipynb',
    callback = function(e)
      vim.bo[e.buf].modified = false
    end,
  })
  server.stop()
  local told = {}
  local notify = server.documents.notify
  server.documents.notify = function(method, params)
    if method == 'tandem/documents/elsewhere' then
      told[#told + 1] = vim.tbl_map(function(uri)
        return vim.fs.basename(vim.uri_to_fname(uri))
      end, params.uris)
      return
    end
    notify(method, params)
  end
  server.stop = server.documents:follow(function() end, true)
  local book = vim.fs.joinpath(dir, 'book.ipynb')
  write(book, '{}')
  vim.cmd.edit(book)
  local buf = api.nvim_get_current_buf()
  equal({ told, server.docs[vim.uri_from_fname(book)] }, { {}, nil })
  -- Neovim runs this autocommand when it waits for a key.
  local function waits_for_a_key()
    api.nvim_exec_autocmds('BufModifiedSet', { buffer = 0 })
  end
  vim.cmd('normal! onew')
  waits_for_a_key()
  eventually('it is told', function()
    return #told == 1
  end)
  local form = vim.fs.joinpath(dir, 'form.txt')
  vim.cmd.enew()
  vim.cmd.file(form)
  vim.bo.buftype = 'acwrite'
  vim.cmd('normal! ix')
  waits_for_a_key()
  eventually('both are told', function()
    return #told == 2
  end)
  local reply, why = edits.apply(server.documents, edit_of(vim.uri_from_fname(book), nil, {}))
  assert(reply == nil and why:find('in another form', 1, true), why)
  equal(api.nvim_buf_get_lines(buf, 0, -1, true), { '# a cell', 'new' })
  vim.cmd('bwipeout!')
  vim.cmd.buffer(buf)
  vim.cmd('silent write')
  waits_for_a_key()
  eventually('neither is told any more', function()
    return vim.deep_equal(told[#told], {})
  end)
  equal(told[1], { 'book.ipynb' })
  equal(told[2], { 'book.ipynb', 'form.txt' })
  api.nvim_del_augroup_by_id(group)
  vim.cmd('bwipeout!')
  server.stop()
end)

test('what cannot be applied is refused', function()
  local server = new_server()
  local _, _, uri = open('one\n')
  local function reason(list)
    return edits.apply(server.documents, edit_of(uri, 1, list)).failureReason
  end
  local function span(a, b, c, d)
    return { range = { start = { line = a, character = b }, ['end'] = { line = c, character = d } }, newText = 'x' }
  end
  equal(reason({ span(5, 0, 5, 0) }), 'range')
  equal(reason({ span(0, 2, 0, 1) }), 'range')
  equal(reason({ span(0, 0, 0, 2), span(0, 1, 0, 3) }), 'range')
  equal(reason({ span(0, 3, 1, 0), span(0, 0, 1, 0) }), 'range')
  local function never(edit)
    local reply, why = edits.apply(server.documents, edit)
    equal(reply, nil)
    return why
  end
  assert(never({ changes = {} }):find('without documentChanges', 1, true))
  assert(never({ documentChanges = { { kind = 'copy', uri = uri } } }):find('"copy"', 1, true))
  equal(server.docs[uri].text, 'one\n')
  vim.cmd('normal! ix')
  local delete = { kind = 'delete', uri = uri }
  equal(edits.apply(server.documents, { documentChanges = { delete } }).failureReason, 'version')
  local guard = { textDocument = { uri = uri, version = 1 }, edits = {} }
  equal(edits.apply(server.documents, { documentChanges = { guard, delete } }).failureReason, 'version')
  equal(server.docs[uri].text, 'xone\n')
  vim.cmd('normal! u')
  server.stop()
end)

test('FaultE10 a file that is newer than its buffer is not deleted', function()
  for _, autoread in ipairs({ true, false }) do
    local server = new_server()
    local buf, path, uri = open('one\n')
    vim.bo[buf].autoread = autoread
    local delete = { kind = 'delete', uri = uri }
    local guard = { textDocument = { uri = uri, version = server.documents:get(buf).version }, edits = {} }
    vim.uv.sleep(20)
    vim.fn.writefile({ 'one', 'saved elsewhere' }, path)
    for _, changes in ipairs({ { guard, delete }, { delete } }) do
      local reply = edits.apply(server.documents, { documentChanges = changes })
      if not autoread or changes[2] then
        equal(reply.applied, false)
      end
      if not autoread then
        equal(reply.failureReason, 'disk')
        equal(vim.fn.readfile(path), { 'one', 'saved elsewhere' })
      end
    end
    server.stop()
  end
end)

test('FaultE10 a file with the text of its buffer is deleted, whatever its times are', function()
  local server = new_server()
  local buf, path, uri = open('one\n')
  local guard = { textDocument = { uri = uri, version = server.documents:get(buf).version }, edits = {} }
  vim.uv.sleep(20)
  vim.fn.writefile({ 'one' }, path)
  equal(edits.apply(server.documents, { documentChanges = { guard, { kind = 'delete', uri = uri } } }), { applied = true })
  equal(vim.uv.fs_stat(path), nil)
  server.stop()
end)

test('one edit is one undo step', function()
  local server = new_server()
  local buf, _, uri = open('one\ntwo\nthree\n')
  vim.cmd('normal! A typed')
  local text = 'one typed\ntwo\nthree\n'
  for i, word in ipairs({ 'A', 'B' }) do
    local list = { text_edit(text, 10, 10, word), text_edit(text, #text - 6, #text - 6, word) }
    equal(edits.apply(server.documents, edit_of(uri, 1 + i, list)), landed(server, uri))
    text = server.docs[uri].text
  end
  equal(text, 'one typed\nBAtwo\nABthree\n')
  local states = {}
  for i = 1, 3 do
    vim.cmd('silent undo')
    states[i] = server.docs[uri].text
  end
  equal(states, { 'one typed\nAtwo\nAthree\n', 'one typed\ntwo\nthree\n', 'one\ntwo\nthree\n' })
  equal(written(buf), 'one\ntwo\nthree\n')
  server.stop()
end)

test('marks stay with their text', function()
  local server = new_server()
  local buf, _, uri = open('one\ntwo\nthree\nfour\n')
  api.nvim_buf_set_mark(buf, 'a', 3, 2, {})
  api.nvim_buf_set_mark(buf, 'B', 2, 1, {})
  local text = server.docs[uri].text
  local list = { text_edit(text, 0, 0, 'zero\n'), text_edit(text, 4, 5, 'TT'), text_edit(text, 8, 8, '>>') }
  equal(edits.apply(server.documents, edit_of(uri, 1, list)), landed(server, uri))
  equal(written(buf), 'zero\none\nTTwo\n>>three\nfour\n')
  equal(api.nvim_buf_get_mark(buf, 'a'), { 4, 4 })
  equal(api.nvim_buf_get_mark(buf, 'B'), { 3, 2 })
  server.stop()
end)

test('cursor and scrolling stay with the text in every window', function()
  local server = new_server()
  local lines = {}
  for i = 1, 200 do
    lines[i] = 'line ' .. i
  end
  local buf, _, uri = open(table.concat(lines, '\n') .. '\n')
  vim.cmd('split')
  local windows = api.nvim_tabpage_list_wins(0)
  local before = {}
  for i, window in ipairs(windows) do
    api.nvim_win_set_cursor(window, { 50 * i, 3 })
    before[i] = api.nvim_win_call(window, vim.fn.winsaveview)
  end
  local text = server.docs[uri].text
  equal(edits.apply(server.documents, edit_of(uri, 1, { text_edit(text, 0, 0, 'a\nb\nc\n') })), landed(server, uri))
  for i, window in ipairs(windows) do
    local now = api.nvim_win_call(window, vim.fn.winsaveview)
    equal({ now.lnum, now.col, now.topline }, { before[i].lnum + 3, 3, before[i].topline + 3 }, 'window ' .. i)
  end
  vim.cmd('only')
  vim.bo[buf].modified = false
  server.stop()
end)

test('every cursor stays on its character', function()
  math.randomseed(seed)
  local pieces = { '', 'x', '\n', 'new\n', 'a\nb', '\nz\n', 'longer text 😀 ' }
  vim.cmd('split | vsplit')
  local server = new_server()
  for round = 1, 150 do
    local lines = {}
    for i = 1, 30 do
      lines[i] = ('%02d %s'):format(i, ('abcdefghij'):rep(math.random(0, 2)))
    end
    local buf, _, uri = open(table.concat(lines, '\n') .. '\n')
    local text = server.docs[uri].text
    local windows, under = api.nvim_tabpage_list_wins(0), {}
    for i, window in ipairs(windows) do
      api.nvim_win_set_buf(window, buf)
      local row = math.random(30)
      local column = math.random(#lines[row]) - 1
      api.nvim_win_set_cursor(window, { row, column })
      under[i] = { row, column }
    end
    -- Each cursor's character becomes one of its own.
    for i, at in ipairs(under) do
      api.nvim_buf_set_text(buf, at[1] - 1, at[2], at[1] - 1, at[2] + 1, { ('XYZ'):sub(i, i) })
      api.nvim_win_set_cursor(windows[i], at)
    end
    text = server.docs[uri].text
    local list, at = {}, 0
    for _ = 1, 3 do
      local from = at + math.random(0, 60)
      local to = from + math.random(0, 25)
      if to < #text and not text:sub(from + 1, to):find('[XYZ]') then
        list[#list + 1] = text_edit(text, from, to, pieces[math.random(#pieces)])
        at = to
      end
    end
    equal(edits.apply(server.documents, edit_of(uri, server.docs[uri].version, list)), landed(server, uri))
    for i, window in ipairs(windows) do
      local cursor = api.nvim_win_get_cursor(window)
      local line = api.nvim_buf_get_lines(buf, cursor[1] - 1, cursor[1], true)[1]
      local own = ('XYZ'):sub(i, i)
      if server.docs[uri].text:find(own) then -- two cursors can have had the same place
        local what = ('round %d, window %d: %s'):format(round, i, vim.inspect(list))
        equal(line:sub(cursor[2] + 1, cursor[2] + 1), own, what)
      end
    end
    vim.bo[buf].modified = false
  end
  vim.cmd('only')
  server.stop()
end)

test('folds made by hand stay around their text', function()
  local server = new_server()
  local content = 'a\nb\nhead\nx\ny\nlast\nt\nu\n'
  for _, open_fold in ipairs({ false, true }) do
    for _, case in ipairs({
      { 'in the first line', 4, 4, 'new ', 3, 6 },
      { 'in a line', 9, 10, 'X', 3, 6 },
      { 'in the last line', 13, 17, 'LAST', 3, 6 },
      { 'lines before the last one', 13, 13, '1\n2\n', 3, 8 },
      { 'lines inside', 11, 11, '1\n2\n', 3, 8 },
      { 'lines grow', 9, 10, 'x\nx2\nx3', 3, 8 },
      { 'lines at the first one', 4, 4, '1\n2\n', 5, 8 },
      { 'lines above', 2, 2, '1\n2\n', 5, 8 },
      { 'lines below', 18, 18, '1\n2\n', 3, 6 },
      { 'lines go', 9, 11, '', 3, 5 },
    }) do
      local buf, _, uri = open(content)
      vim.wo.foldmethod = 'manual'
      vim.cmd('3,6fold')
      if open_fold then
        vim.cmd('3foldopen')
      end
      vim.cmd('normal! G')
      local list = { text_edit(content, case[2], case[3], case[4]) }
      equal(edits.apply(server.documents, edit_of(uri, 1, list)), landed(server, uri))
      local levels, want, closed = {}, {}, {}
      for line = 1, api.nvim_buf_line_count(buf) do
        levels[line], want[line] = vim.fn.foldlevel(line), line >= case[5] and line <= case[6] and 1 or 0
        closed[#closed + 1] = vim.fn.foldclosed(line) > 0 and line or nil
      end
      local what = ('%s, %s'):format(case[1], open_fold and 'open' or 'closed')
      equal(levels, want, what)
      equal(#closed, open_fold and 0 or case[6] - case[5] + 1, what)
      equal(api.nvim_win_get_cursor(0)[1], api.nvim_buf_line_count(buf), what)
      vim.cmd('bwipeout!')
    end
  end
  server.stop()
end)

-- Files that are not open --------------------------------------------------------------------------

test('a closed file is opened unseen, edited, saved and closed again', function()
  local server = new_server()
  local path = vim.fs.joinpath(dir, 'closed.txt')
  write(path, 'one\r\ntwo\r\nthree')
  local uri = vim.uri_from_fname(path)
  local text = 'one\r\ntwo\r\nthree'
  local window, current = api.nvim_get_current_win(), api.nvim_get_current_buf()
  local list = { text_edit(text, 5, 8, 'TWO') }
  equal(edits.apply(server.documents, edit_of(uri, nil, list)), { applied = false, failureReason = 'version' })
  equal(server.docs[uri], { text = text, version = 1 }, 'the server hears of its text first')
  equal(edits.apply(server.documents, edit_of(uri, 1, list)), landed(server, uri))
  equal(on_disk(path), text)
  equal(server.documents:save(path), nil)
  equal(on_disk(path), 'one\r\nTWO\r\nthree', 'line ends stay, none is added')
  server.documents:release()
  equal(server.docs[uri], nil)
  equal({ api.nvim_get_current_win(), api.nvim_get_current_buf() }, { window, current })
  equal(documents.buffer(path), nil)
  server.stop()
end)

test('a new file is created with its text', function()
  local server = new_server()
  api.nvim_create_autocmd('BufNewFile', { once = true, pattern = '*.tmpl', command = 'call setline(1, "template")' })
  local open_before = vim.tbl_count(server.docs)
  for name, content in pairs({ ['sub/new.tmpl'] = 'hello\nthere\n', ['bare.txt'] = 'no end', ['nothing.txt'] = '' }) do
    local path = vim.fs.joinpath(dir, name)
    local uri = vim.uri_from_fname(path)
    local edit = edit_of(uri, nil, { text_edit('', 0, 0, content) })
    table.insert(edit.documentChanges, 1, { kind = 'create', uri = uri, options = { ignoreIfExists = true } })
    equal(edits.apply(server.documents, edit), landed(server, uri), name)
    equal(server.docs[uri].text, content)
    equal(server.documents:save(path), nil)
    equal(on_disk(path), content)
  end
  server.documents:release()
  equal(vim.tbl_count(server.docs), open_before)
  server.stop()
end)

test('a released buffer that somebody uses stays', function()
  local server = new_server()
  local path = vim.fs.joinpath(dir, 'used.txt')
  write(path, 'x\n')
  local uri = vim.uri_from_fname(path)
  edits.apply(server.documents, edit_of(uri, nil, { text_edit('x\n', 0, 1, 'y') }))
  vim.cmd.edit(path)
  server.documents:release()
  equal(server.docs[uri].text, 'x\n')
  server.stop()
end)

test('saving does not overwrite a file that has changed on disk', function()
  local server = new_server()
  local _, path = open('one\n')
  vim.cmd('normal! Amine')
  vim.uv.fs_utime(path, 1, 1)
  write(path, 'somebody else\n')
  vim.uv.fs_utime(path, 5, 5)
  equal(server.documents:save(path), 'the file has changed on disk')
  equal(server.documents:save(path), 'the file has changed on disk')
  equal(on_disk(path), 'somebody else\n')
  vim.cmd('silent write!')
  equal(server.documents:save(path), nil)
  equal(server.documents:save(vim.fs.joinpath(dir, 'never opened')), 'not open')
  server.stop()
end)

-- Typing in a child --------------------------------------------------------------------------------

-- A Neovim of its own, with a server inside it that holds what it was told.
local function child(content)
  local job = vim.fn.jobstart({ vim.v.progpath, '--clean', '--embed', '--headless' }, { rpc = true })
  local self = {}
  function self.lua(code, ...)
    return vim.rpcrequest(job, 'nvim_exec_lua', code, { ... })
  end
  function self.type(keys)
    vim.rpcrequest(job, 'nvim_input', keys)
    -- Requests are answered between keys: this one comes back when the keys are through.
    vim.wait(2000, function()
      return self.lua('return vim.fn.getchar(1)') == 0
    end, 5)
  end
  function self.lines()
    return vim.rpcrequest(job, 'nvim_buf_get_lines', 0, 0, -1, true)
  end
  function self.stop()
    vim.fn.jobstop(job)
  end
  -- Puts text into a line at a column, as the server would.
  function self.insert(line, column, text)
    return self.lua(
      [[local line, column, text = ...
        local buf = vim.api.nvim_get_current_buf()
        local at = { line = line, character = column }
        return require('tandem.edits').apply(docs, { documentChanges = { {
          textDocument = { uri = vim.uri_from_bufnr(buf), version = docs:get(buf).version },
          edits = { { range = { start = at, ['end'] = at }, newText = text } } } } })]],
      line,
      column,
      text
    )
  end
  self.lua(
    [[local plugin, dir, path = ...
      vim.opt.runtimepath:prepend(plugin)
      docs = require('tandem.documents').new(dir, function() end)
      vim.cmd.edit(path)
      docs:follow(function() end)]],
    plugin,
    dir,
    file(content)
  )
  return self
end

for _, case in ipairs({
  { 'above the cursor', 0, 0, 'new\n', 'new\none ab|cd\ntwo\n' },
  { 'below the cursor', 1, 0, 'x', 'one ab|cd\nxtwo\n' },
  { 'left in the line', 0, 0, '// ', '// one ab|cd\ntwo\n' },
  { 'at the caret', 0, 6, ' there', 'one abcd there\ntwo\n' },
}) do
  test('typing goes on through an edit ' .. case[1], function()
    local c = child('one\ntwo\n')
    c.type('A ab')
    equal(c.insert(case[2], case[3], case[4]).applied, true)
    c.type('cd<Esc>')
    local want = case[5]:gsub('|', '')
    equal(table.concat(c.lines(), '\n') .. '\n', want)
    c.type('u')
    local without = want:gsub('cd', '', 1)
    equal(table.concat(c.lines(), '\n') .. '\n', without, 'the first undo takes what was typed since')
    c.type('u')
    equal(table.concat(c.lines(), '\n') .. '\n', 'one ab\ntwo\n', 'the second takes the edit')
    c.type('u')
    equal(table.concat(c.lines(), '\n') .. '\n', 'one\ntwo\n', 'the third what was typed before')
    c.type('3<C-r>')
    equal(table.concat(c.lines(), '\n') .. '\n', want, 'and redo brings all of it back')
    c.stop()
  end)
end

test('lines that arrive above the caret push it down', function()
  local c = child('one\ntwo\n')
  c.type('jI')
  equal(c.insert(1, 0, 'new\nlines\n').applied, true)
  c.type('my <Esc>')
  equal(c.lines(), { 'one', 'new', 'lines', 'my two' })
  c.type('uu')
  equal(c.lines(), { 'one', 'two' })
  c.stop()
end)

test('a file that another Neovim has open is left alone', function()
  local here, there = child('x\n'), child('y\n')
  there.type('Amore<Esc>')
  there.lua('vim.cmd.preserve()')
  local reply = here.lua(
    [[return { require('tandem.edits').apply(docs, { documentChanges = { {
        textDocument = { uri = ... }, edits = {} } } }) }]],
    vim.uri_from_fname(there.lua('return vim.api.nvim_buf_get_name(0)'))
  )
  assert(tostring(reply[2]):find('cannot open', 1, true), vim.inspect(reply))
  here.stop()
  there.stop()
end)

-- Questions ----------------------------------------------------------------------------------------

local question = require('tandem.question')
local chats = require('tandem.chat')

local function new_instance(name)
  local instance = { root = dir, session = 's', running = false, requests = {} }
  instance.chat = chats.new(name)
  instance.review = require('tandem.review').new(instance)
  function instance:request(method, params, callback)
    self.requests[#self.requests + 1] = { method = method, params = params, answer = callback }
  end
  return instance
end

local function press(keys)
  api.nvim_feedkeys(vim.keycode(keys), 'xt', false)
end

-- The window of a question, once it has the keyboard.
local function has_keyboard(text)
  eventually('the question has the keyboard: ' .. text, function()
    local lines = table.concat(api.nvim_buf_get_lines(0, 0, -1, true), '\n')
    local here = vim.bo.filetype == 'tandem-question' and lines:find(text, 1, true) ~= nil
    local footer = here and api.nvim_win_get_config(0).footer
    return here and footer[1][1]:find('Enter', 1, true) ~= nil -- which comes once keys count
  end)
  return table.concat(api.nvim_buf_get_lines(0, 0, -1, true), '\n')
end

local OPTIONS = {
  { optionId = 'allow_once', name = 'Allow', kind = 'allow_once' },
  { optionId = 'reject_once', name = 'Reject', kind = 'reject_once' },
}

local function ask(instance, id, more)
  local answered
  local command = 'rm -rf ' .. id .. '\n\27[2K echo hi'
  question.permission(instance, vim.tbl_extend('force', {
    sessionId = 's',
    toolCall = { toolCallId = id, title = 'Run ' .. id, rawInput = { command = command } },
    options = OPTIONS,
  }, more or {}), function(result)
    answered = result
  end)
  return function()
    eventually('question ' .. id .. ' is answered', function()
      return answered ~= nil
    end)
    return answered.outcome, answered._meta
  end
end

test('FindingS4 a question shows all of a command and what is hidden in it; a number and Enter answer it', function()
  local instance = new_instance('q1')
  local first = ask(instance, 'x1', { _meta = { tandem = { danger = 'dangerous', reason = 'Deletes files: rm' } } })
  local window = api.nvim_get_current_win()
  equal(has_keyboard('x1'), ('  in %s · 2 lines, 22 bytes\n'):format(vim.fn.fnamemodify(dir, ':~')) .. [[
  │ rm -rf x1
  │ \u{1b}[2K echo hi
  Dangerous. Deletes files: rm

 1  Allow
 2  Reject
 3  Reject, and say why …]])
  press('<CR>') -- no option is chosen
  equal(question.waiting('s'), 1)
  press('1<CR>')
  equal(first(), { outcome = 'selected', optionId = 'allow_once' })
  equal(api.nvim_get_current_win(), window, 'the keyboard goes back')
end)

test('a question shows the whole diff', function()
  local instance = new_instance('q2')
  local unified = '--- a/f.go\n+++ b/f.go\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n'
  local answer = ask(instance, 'd1', {
    toolCall = {
      toolCallId = 'd1',
      title = 'Edit f.go',
      content = { { type = 'diff', path = '/w/f.go', oldText = 'old', _meta = { tandem = { unified = unified } } } },
    },
  })
  local text = has_keyboard('Edit f.go')
  assert(text:find('+1 −1', 1, true) and text:find(unified:gsub('\n$', ''), 1, true), text)
  press('2<CR>')
  equal(answer(), { outcome = 'selected', optionId = 'reject_once' })
end)

test('FindingS17 a question that is higher than its window is allowed when all of it was on the screen', function()
  local instance = new_instance('q5')
  local added = {}
  for i = 1, 60 do
    added[i] = '+line ' .. i
  end
  added[61] = '+' .. ('é'):rep(2000) .. 'end'
  local unified = '--- a/f\n+++ b/f\n@@ -0,0 +1,61 @@\n' .. table.concat(added, '\n') .. '\n'
  local content = { { type = 'diff', path = '/w/f', oldText = '', _meta = { tandem = { unified = unified } } } }
  local call = { toolCallId = 'h1', title = 'Edit f', kind = 'edit', content = content }
  local answer = ask(instance, 'h1', { toolCall = call })
  local text = has_keyboard('Edit f')
  equal(select(2, text:gsub('é', '')), 2000, 'all of a long line is there')
  local seen, pages = {}, 0
  while question.waiting('s') > 0 do
    assert(pages < 60, 'it cannot be allowed')
    local rows, row = api.nvim_win_get_height(0), vim.fn.line('w0')
    while row <= vim.fn.line('$') do
      rows = rows - api.nvim_win_text_height(0, { start_row = row - 1, end_row = row - 1 }).all
      if rows < 0 then
        break
      end
      seen[row], row = true, row + 1
    end
    vim.wait(120) -- somebody looks at it
    press('1<CR>')
    pages = pages + 1
  end
  equal(answer(), { outcome = 'selected', optionId = 'allow_once' })
  equal(#seen, select(2, text:gsub('\n', '')) + 1, 'every line was on the screen')
  assert(pages > 3, pages)
  -- Refusing needs no reading.
  call.toolCallId = 'h2'
  answer = ask(instance, 'h2', { toolCall = call })
  has_keyboard('Edit f')
  press('2<CR>')
  equal(answer(), { outcome = 'selected', optionId = 'reject_once' })
end)

test('a refusal can say why; words that are not sent leave the question open', function()
  local instance = new_instance('q6')
  local answer = ask(instance, 'w1')
  has_keyboard('w1')
  press('3<CR>')
  equal(vim.bo.filetype, 'tandem-prompt')
  press('<CR>') -- nothing is written
  equal(vim.bo.filetype, 'tandem-prompt')
  press('<Esc>')
  equal(question.waiting('s'), 1)
  eventually('the question is back', function()
    question.answer()
    return vim.bo.filetype == 'tandem-question'
  end)
  has_keyboard('w1')
  press('3<CR>')
  api.nvim_buf_set_lines(0, 0, -1, true, { 'use make', 'instead' })
  press('<CR>')
  local outcome, meta = answer()
  equal(outcome, { outcome = 'selected', optionId = 'reject_once' })
  equal(meta, { tandem = { feedback = 'use make\ninstead' } })
end)

test('one question is asked at a time, a withdrawn one is cancelled, Escape leaves it open', function()
  local instance = new_instance('q3')
  local first, second, third = ask(instance, 'a1'), ask(instance, 'a2'), ask(instance, 'a3')
  equal(question.waiting('s'), 3)
  has_keyboard('a1')
  question.withdraw('s', 'a2')
  equal(second(), { outcome = 'cancelled' })
  press('<Esc>')
  assert(vim.bo.filetype ~= 'tandem-question', 'the keyboard is given back')
  question.answer()
  has_keyboard('a1')
  press('2<CR>')
  equal(first(), { outcome = 'selected', optionId = 'reject_once' })
  has_keyboard('a3')
  question.withdraw('s')
  equal(third(), { outcome = 'cancelled' })
  assert(vim.bo.filetype ~= 'tandem-question', 'nothing is left on the screen')
end)

test('a question in the command-line window waits until that is closed', function()
  local c = child('x\n')
  c.lua([[instance = { root = '/', session = 's', running = false }
    instance.chat = require('tandem.chat').new('c')
    instance.review = require('tandem.review').new(instance)]])
  c.type('q:')
  c.lua([[require('tandem.question').clarify(instance, { sessionId = 's', toolCallId = '1', question = 'What?' },
    function(a) answered = a end)]])
  vim.wait(120)
  c.type(':q<CR>')
  eventually('it is asked', function()
    return c.lua('return vim.bo.filetype') == 'tandem-question'
  end)
  c.stop()
end)

test('what the model wants to know: an option, own words, no answer in time', function()
  local instance = new_instance('q4')
  local got = {}
  local function clarify(name, more)
    question.clarify(instance, vim.tbl_extend('force', {
      sessionId = 's',
      toolCallId = name,
      question = 'Which of ' .. name .. '?',
      options = { { id = 'a', label = 'The first' }, { id = 'b', label = 'The second' } },
    }, more or {}), function(answer)
      got[name] = { answer }
    end)
  end
  clarify('c1', { defaultAnswer = 'b' })
  local text = has_keyboard('c1')
  assert(text:find(' 2  The second  (if you do not answer)', 1, true), text)
  press('2<CR>')
  equal(got.c1, { 'b' })
  clarify('c2', { options = nil })
  has_keyboard('c2')
  press('j')
  press('3<CR>')
  equal(vim.bo.filetype, 'tandem-prompt')
  api.nvim_buf_set_lines(0, 0, -1, true, { 'neither', 'of them' })
  press('<CR>')
  equal(got.c2, { 'neither\nof them' })
  clarify('c3', { timeoutMs = 100 })
  eventually('nobody answers', function()
    return got.c3 ~= nil
  end)
  equal(got.c3, {})
end)

-- Settings, commands, help -------------------------------------------------------------------------

test('settings: every one is in the help, wrong ones are told', function()
  local config = require('tandem.config')
  local help = on_disk(plugin .. '/doc/tandem.txt')
  for name, field in pairs(config.schema) do
    assert(help:find('*tandem.' .. name .. '*', 1, true), 'no help for ' .. name)
    local default = vim.inspect(field.default):gsub('%s+', ' ')
    assert(help:find(('`%s`'):format(default), 1, true), ('help does not tell %s of %s'):format(default, name))
  end
  for tag in help:gmatch('%*tandem%.([%w_]+)%*\n        ') do
    assert(config.schema[tag], 'help tells of a setting that is none: ' .. tag)
  end
  equal(config.get().binary, 'tandem')
  vim.g.tandem = { binary = '/x/tandem' }
  equal(config.get().binary, '/x/tandem')
  config.set({ binary = 'y' })
  equal(config.get().binary, 'y')
  config.set()
  vim.g.tandem = { binry = 'x' }
  equal({ pcall(config.get) }, { false, 'tandem: there is no setting "binry"; see :help tandem-settings' })
  vim.g.tandem = { binary = 7 }
  equal({ pcall(config.get) }, { false, 'tandem: the setting binary is a string, not a number' })
  vim.g.tandem = nil
end)

test('the help tells of every command, mapping and colour, and its tags are clean', function()
  local help = on_disk(plugin .. '/doc/tandem.txt')
  for name in pairs(require('tandem.commands').commands) do
    assert(help:find('*:Tandem-' .. name .. '*', 1, true), 'no help for :Tandem ' .. name)
  end
  vim.cmd.source(plugin .. '/plugin/tandem.lua')
  for _, map in ipairs(api.nvim_get_keymap('n')) do
    if map.lhs:find('^<Plug>%(tandem%-') then
      assert(help:find(map.lhs, 1, true), 'no help for ' .. map.lhs)
    end
  end
  for group in pairs(require('tandem.highlights').groups) do
    assert(help:find('%f[%w]' .. group .. '%f[%W]'), 'no help for ' .. group)
  end
  -- In a copy, so that no file of tags is left among the sources.
  local copy = vim.fs.joinpath(dir, 'help', 'doc')
  vim.fn.mkdir(copy, 'p')
  write(copy .. '/tandem.txt', help)
  vim.cmd.helptags(copy)
  local tags = {}
  for line in io.lines(copy .. '/tags') do
    tags[line:match('^[^\t]+')] = true
  end
  for link in help:gmatch('|([%w:._-]+)|') do
    local known = tags[link] or #vim.fn.getcompletion(link, 'help') > 0
    assert(known, 'a link that leads nowhere: ' .. link)
  end
  for line in vim.gsplit(help, '\n') do
    assert(vim.fn.strdisplaywidth(line) <= 79, 'too long: ' .. line)
  end
end)

test('FindingU4 the words of :Tandem are commands whatever follows, and what is none of them is a prompt', function()
  local commands, tandem = require('tandem.commands'), require('tandem')
  local said = {}
  local real = {}
  for _, name in ipairs({ 'ask', 'accept', 'diff', 'prompt', 'mode', 'model', 'next' }) do
    real[name] = tandem[name]
  end
  for name in pairs(real) do
    tandem[name] = function(...)
      said = { name, ... }
    end
  end
  for text, want in pairs({
    ['accept'] = { 'accept' },
    ['accept  all '] = { 'accept', 'all' },
    ['diff split'] = { 'diff', 'split' },
    ['mode auto'] = { 'mode', 'auto' },
    ['mode'] = { 'mode' },
    ['model nobody/nothing'] = { 'model', 'nobody/nothing' },
    ['ask mode fast'] = { 'ask', 'mode fast' },
    ['modes are nice'] = { 'ask', 'modes are nice' },
    ['ask'] = { 'prompt' },
    ['ask undo'] = { 'ask', 'undo' },
    ['Undo all of it'] = { 'ask', 'Undo all of it' },
    [''] = { 'ask', '' },
  }) do
    commands.run(text)
    equal(said, want, text)
  end
  local told
  local tell = chats.tell
  chats.tell = function(text, level)
    told = { text, level }
  end
  for text, want in pairs({
    ['accept the first one'] = ':Tandem accept takes one of file, all',
    ['mode fast'] = ':Tandem mode takes one of readOnly, plan, ask, acceptEdits, auto',
    ['mode auto please'] = ':Tandem mode takes one of readOnly, plan, ask, acceptEdits, auto',
    ['model two words'] = ':Tandem model takes one word; :Tandem ask model … asks',
    ['next to last'] = ':Tandem next takes nothing more; :Tandem ask next … asks',
  }) do
    said = {}
    commands.run(text)
    equal({ told, said }, { { want, vim.log.levels.ERROR }, {} }, text)
  end
  chats.tell = tell
  for name, fn in pairs(real) do
    tandem[name] = fn
  end
  equal(commands.complete('ac', 'Tandem ac'), { 'accept' })
  equal(commands.complete('', 'Tandem reject '), { 'all', 'file' })
  equal(commands.complete('sp', "'a,'bTan diff sp"), { 'split' })
  equal(commands.complete('', 'Tandem fix it '), {})
end)

test('every method that the plugin names is one of the protocol', function()
  local protocol = require('tandem.protocol')
  local known = {}
  for _, list in ipairs({ 'ServerRequests', 'ServerNotifications', 'ClientRequests', 'ClientNotifications' }) do
    for _, method in ipairs(protocol[list]) do
      known[method] = true
    end
  end
  local seen = 0
  for name in vim.fs.dir(plugin .. '/lua/tandem') do
    if name ~= 'protocol.lua' then
      for method in on_disk(plugin .. '/lua/tandem/' .. name):gmatch("'(tandem/[%w/]+)'") do
        assert(known[method] or known[method .. 'accept'], ('%s in %s'):format(method, name))
        seen = seen + 1
      end
    end
  end
  assert(seen > 10)
  -- What the server asks of a client that says that it answers, it answers. It lends no model and registers no tools.
  local handlers = on_disk(plugin .. '/lua/tandem/client.lua')
  for _, method in ipairs(protocol.ClientRequests) do
    if vim.startswith(method, 'tandem/') and method ~= 'tandem/model/stream' and method ~= 'tandem/tools/invoke' then
      assert(handlers:find(("on['%s']"):format(method), 1, true), 'nothing answers ' .. method)
    end
  end
end)

-- The chat -----------------------------------------------------------------------------------------

local function shown(chat)
  return table.concat(api.nvim_buf_get_lines(chat.buf, 0, -1, true), '\n')
end

local function call(id, title, kind, status, more)
  return vim.tbl_extend('force', { toolCallId = id, title = title, kind = kind, status = status }, more or {})
end

local UNIFIED = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-old\n+new\n+more\n'

-- The closed folds of the window that shows a chat.
local function folds(chat)
  return api.nvim_win_call(vim.fn.win_findbuf(chat.buf)[1], function()
    local result, line = {}, 1
    while line <= vim.fn.line('$') do
      local last = vim.fn.foldclosedend(line)
      if last > 0 then
        result[#result + 1] = { line, last }
        line = last
      end
      line = line + 1
    end
    return result
  end)
end

test('F237 the chat shows what a tool says of its call', function()
  local chat = new_instance('render1').chat
  chat:open()
  local function call(id, kind, render)
    chat:update({
      sessionUpdate = 'tool_call', toolCallId = id, title = 'Title ' .. id, kind = kind, status = 'completed',
      _meta = { tandem = { state = 'completed', phase = 'result', render = render } },
    })
  end
  call('1', 'execute', { markdown = '`npm test` → exit 0' })
  call('2', 'other', { markdown = '`x` → a\\_b', widgets = { { type = 'chart', title = 'Chart\27[2J', markdown = 'one\ntwo' } } })
  local text = shown(chat)
  assert(text:find('Title 1  exit 0', 1, true), text)
  assert(text:find('Title 2  a_b', 1, true), text)
  assert(text:find('    Chart[^\27\n]*\n    one\n    two'), text)
end)

test('FaultE15 the chat shows that a call which was not known has worked', function()
  local chat = new_instance('late1').chat
  chat:open()
  local function update(fields, meta)
    chat:update(vim.tbl_extend('force', { sessionUpdate = 'tool_call_update', toolCallId = '1', _meta = { tandem = meta } }, fields))
  end
  update({ sessionUpdate = 'tool_call', kind = 'edit', title = 'Edit a.txt', status = 'in_progress' }, { phase = 'use' })
  update({ status = 'failed' }, { phase = 'error', error = 'UNKNOWN', summary = 'The editor has not confirmed the edit yet.' })
  equal(shown(chat):find('not confirmed', 1, true) ~= nil, true)
  update({ status = 'completed' }, { phase = 'result', late = true })
  equal(shown(chat):find('not confirmed', 1, true), nil)
  equal(shown(chat):find('Edit a.txt', 1, true) ~= nil, true)
end)

test('F178 the chat shows the tasks of the model in one place', function()
  local chat = new_instance('plan1').chat
  chat:open()
  local function plan(...)
    local entries = {}
    for i, status in ipairs({ ... }) do
      entries[i] = { content = 'Step ' .. i .. '\27[2J', priority = 'medium', status = status }
    end
    chat:update({ sessionUpdate = 'plan', entries = entries })
  end
  plan('pending', 'pending')
  plan('completed', 'in_progress', 'pending')
  chat:update({ sessionUpdate = 'agent_message_chunk', content = { type = 'text', text = 'One is done.' } })
  plan('completed', 'completed', 'pending')
  local text = shown(chat)
  assert(text:find('One is done.\n\n?☰ Plan: 2 of 3 done\n    ✓ Step 1[^\27]*\n    ✓ Step 2[^\27]*\n    ○ Step 3'), text)
  equal(select(2, text:gsub('Plan:', '')), 1, 'plans')
  plan()
  assert(not shown(chat):find('Plan:'), shown(chat))
end)

test('the chat shows a turn', function()
  local chat = new_instance('chat1').chat
  chat:open()
  chat:asked('fix it\nplease')
  local function say(text)
    chat:update({ sessionUpdate = 'agent_message_chunk', content = { type = 'text', text = text } })
  end
  chat:update({ sessionUpdate = 'user_message_chunk', content = { type = 'text', text = 'fix it\nplease' } })
  say('Let me ')
  say('look.\nNow')
  chat:call(call('1', 'Read a.txt', 'read', 'completed', { _meta = { tandem = { semantic = 'read' } } }))
  chat:call(call('2', 'Search old', 'search', 'in_progress', { _meta = { tandem = { semantic = 'search' } } }))
  chat:call(call('3', 'Edit a.txt', 'edit', 'pending'))
  chat:update({ sessionUpdate = 'notice', content = { type = 'text', text = '' } })
  chat:update({ sessionUpdate = 'notice', content = { type = 'text', text = 'Careful.' } })
  chat:call(call('3', nil, nil, 'completed', {
    content = { { type = 'diff', path = 'a.txt', _meta = { tandem = { unified = UNIFIED } } } },
  }))
  chat:call(call('2', nil, nil, 'failed', { _meta = { tandem = { error = 'READ_ERROR' } } }))
  chat:call(call('4', '$ make', 'execute', 'in_progress', { _meta = { tandem = { output = 'one\ntwo\n' } } }))
  chat:call(call('4', nil, nil, nil, { _meta = { tandem = { output = 'three\n' } } }))
  equal(shown(chat), [[
▎ fix it
▎ please

Let me look.
Now

▤ Looked at 1 thing, 1 failed  Read a.txt, Search old
    ▤ Read a.txt
    ⌕ Search old  failed
✎ Edit a.txt  +2 −1
    --- a/a.txt
    +++ b/a.txt
    @@ -1 +1,2 @@
    -old
    +new
    +more
! Careful.
❯ $ make  running · three
    one
    two
    three]])
  equal(folds(chat), { { 7, 9 }, { 10, 16 }, { 18, 21 } })
  chat:ended('cancelled')
  say('Done.\n```\ncode')
  chat:ended('error', 'The key is wrong.')
  local text = shown(chat)
  assert(text:find('❯ $ make  stopped', 1, true), text)
  assert(text:find('■ Stopped.\n\nDone.\n```\ncode\n```\n\n■ The key is wrong.', 1, true), text)
  vim.cmd('only')
end)

test('FaultV22 calls that were refused are counted apart, and tasks have a sign of their own', function()
  local chat = new_instance('looked').chat
  chat:open()
  local function say(text)
    chat:update({ sessionUpdate = 'agent_message_chunk', content = { type = 'text', text = text } })
  end
  say('Let me look.')
  for i = 1, 3 do
    chat:call(call(tostring(i), 'Read ' .. i, 'read', i == 1 and 'completed' or 'failed', { _meta = { tandem = { semantic = 'read' } } }))
  end
  say('And the tasks.')
  chat:call(call('4', 'Add a task', 'think', 'completed'))
  say('Again.')
  for i = 5, 6 do
    chat:call(call(tostring(i), 'Read ' .. i, 'read', 'failed', { _meta = { tandem = { semantic = 'read' } } }))
  end
  local text = shown(chat)
  assert(text:find('▤ Looked at 1 thing, 2 failed  Read 1, Read 2, Read 3', 1, true), text)
  assert(text:find('▤ Looked at nothing, 2 failed  Read 5, Read 6', 1, true), text)
  assert(text:find('☰ Add a task', 1, true), text)
  vim.cmd('only')
end)

test('FindingU12 a failed call says what happened in a sentence, without codes and words for the model', function()
  local chat = new_instance('chat12').chat
  chat:open()
  chat:asked('go')
  local content = { { type = 'content', content = { type = 'text', text = '[NOT_READ] Read it with read_file first.' } } }
  local meta = { error = 'NOT_READ', summary = 'The model has not read this text yet. Nothing was changed.' }
  chat:call(call('1', 'Edit a.go', 'edit', 'failed', { content = content, _meta = { tandem = meta } }))
  chat:call(call('2', 'Edit b.go', 'edit', 'failed', { content = content, _meta = { tandem = { error = 'FILE_TOO_LARGE' } } }))
  chat:call(call('3', 'Edit c.go', 'edit', 'failed', { content = content, _meta = { tandem = { error = 'OF_TOMORROW' } } }))
  chat:ended('of_tomorrow')
  equal(shown(chat), [[
▎ go

✎ Edit a.go  failed
    The model has not read this text yet. Nothing was changed.
✎ Edit b.go  failed
    The file is too large. The setting limits.maxFileBytes raises the limit.
✎ Edit c.go  failed
    This failed.
■ The turn failed.]])
  vim.cmd('only')
end)

test('a fold stays as the person has it while its call goes on', function()
  local chat = new_instance('chat2').chat
  chat:open()
  chat:asked('go')
  chat:call(call('1', 'Edit a.txt', 'edit', 'in_progress', {
    content = { { type = 'diff', path = 'a.txt', _meta = { tandem = { unified = UNIFIED } } } },
  }))
  chat:call(call('2', '$ make', 'execute', 'in_progress', { _meta = { tandem = { output = 'one\n' } } }))
  equal(folds(chat), { { 3, 9 }, { 10, 11 } })
  local window = vim.fn.win_findbuf(chat.buf)[1]
  api.nvim_win_call(window, function()
    vim.cmd('10foldopen')
  end)
  for i = 1, 20 do
    chat:call(call('2', nil, nil, nil, { _meta = { tandem = { output = ('line %d\n'):format(i) } } }))
    chat:call(call('1', nil, nil, i % 2 == 0 and 'completed' or 'in_progress'))
  end
  equal(folds(chat), { { 3, 9 } })
  equal(api.nvim_win_call(window, function()
    return { vim.fn.foldlevel(10), vim.fn.foldlevel(31), vim.fn.line('$') }
  end), { 1, 1, 31 })
  api.nvim_win_close(window, true)
  chat:open()
  equal(folds(chat), { { 3, 9 }, { 10, 31 } }, 'a window that is opened later has the folds, too')
  vim.cmd('only')
end)

test('a failure that was announced is said once, and what is said to begin with goes away', function()
  local chat = new_instance('chat3').chat
  chat:greet({ { { 'Hello ' }, { 'there', 'TandemKey' } } })
  equal(shown(chat), 'Hello there')
  chat:asked('go')
  chat:update({ sessionUpdate = 'notice', content = { type = 'text', text = 'The key is wrong.' } })
  chat:ended('error', 'The key is wrong.')
  equal(shown(chat), '▎ go\n\n■ The key is wrong.')
  equal(#chat.items, 2)
  chat:clear()
  equal(shown(chat), '')
end)

test('a chat at its end stays there, and one that was scrolled stays where it is', function()
  local chat = new_instance('chat4').chat
  chat:open()
  local window = vim.fn.win_findbuf(chat.buf)[1]
  for i = 1, 60 do
    chat:note('line ' .. i)
  end
  equal(api.nvim_win_get_cursor(window)[1], 60)
  api.nvim_win_set_cursor(window, { 10, 0 })
  chat:note('more')
  equal(api.nvim_win_get_cursor(window)[1], 10)
  vim.cmd('only')
end)

-- Review -------------------------------------------------------------------------------------------

-- A hunk as the server tells of it: lines first to last-1 of the new text.
local function hunk(id, first, last, old, new, status)
  return {
    id = id,
    range = { start = { line = first, character = 0 }, ['end'] = { line = last, character = 0 } },
    oldText = old,
    newText = new,
    status = status or 'pending',
    turn = 1,
    toolCallId = 'c',
  }
end

local function reviewed(content, hunks)
  local server = new_server()
  local buf, _, uri = open(content)
  local instance = new_instance('review')
  instance.documents = server.documents
  instance.review:start()
  local function answer(list, file)
    eventually('the changes are asked for', function()
      return #instance.requests > 0
    end)
    local request = table.remove(instance.requests)
    equal(request.method, 'tandem/changes/list')
    file = vim.tbl_extend('force', { uri = uri, status = 'modified', additions = 1, deletions = 1, unified = '', hunks = list }, file or {})
    request.answer(nil, { files = #list > 0 and { file } or {} })
  end
  instance.review:later({ uri })
  answer(hunks)
  return instance, buf, uri, server, answer
end

-- What is marked: lines of each change, and the old lines shown there.
local function marked(buf)
  local result = {}
  local ns = api.nvim_get_namespaces()['tandem_review']
  for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    local old = {}
    for _, line in ipairs(mark[4].virt_lines or {}) do
      local text = ''
      for _, chunk in ipairs(line) do
        text = text .. chunk[1]
      end
      old[#old + 1] = vim.trim(text):match('^−(.*)')
    end
    result[#result + 1] = { mark[2] + 1, mark[4].end_row and mark[4].end_row + 1 or false, table.concat(old, '|') }
  end
  return result
end

test('F094 the changed parts of a line are marked in the text and in the line that was there', function()
  local change = hunk('a', 1, 2, 'é two\n', 'é TWO\n')
  change.inline = { { start = 2, ['end'] = 5, op = 'delete' }, { start = 2, ['end'] = 5, op = 'insert' } }
  local _, buf = reviewed('one\né TWO\nthree\n', { change })
  local function parts()
    local result = {}
    local ns = api.nvim_get_namespaces()['tandem_review_changed']
    for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
      result[#result + 1] = { mark[2], mark[3], mark[4].end_col, mark[4].hl_group }
    end
    return result
  end
  equal(parts(), { { 1, 3, 6, 'TandemAddedText' } })
  local ns = api.nvim_get_namespaces()['tandem_review']
  local old = api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })[1][4].virt_lines[1]
  equal(old[3], { 'two', 'TandemRemovedText' })
end)

test('changes are marked where they are, and the marks move with the text', function()
  local text = 'one\nTWO\nthree\nfour\nsix\n'
  local instance, buf, _, server = reviewed(text, {
    hunk('a', 1, 2, 'two\n', 'TWO\n'),
    hunk('b', 4, 4, 'five\nfive and a half\n', ''),
    hunk('c', 0, 1, '', 'one\n', 'accepted'),
  })
  equal(marked(buf), { { 2, 2, 'two' }, { 5, false, 'five|five and a half' } })
  local files, hunks = instance.review:pending()
  equal({ files, hunks }, { 1, 2 })
  vim.cmd('normal! ggOabove\27jjohalf\27')
  equal(api.nvim_buf_get_lines(buf, 0, -1, true), { 'above', 'one', 'TWO', 'half', 'three', 'four', 'six' })
  equal(marked(buf), { { 3, 3, 'two' }, { 7, false, 'five|five and a half' } })
  vim.cmd('normal! gg')
  instance.review:go(1)
  equal(api.nvim_win_get_cursor(0)[1], 3)
  instance.review:go(1)
  equal(api.nvim_win_get_cursor(0)[1], 7)
  instance.review:go(1)
  equal(api.nvim_win_get_cursor(0)[1], 3, 'it goes round')
  instance.review:go(-1)
  equal(api.nvim_win_get_cursor(0)[1], 7)
  instance.review:list()
  equal(vim.tbl_map(function(item)
    return { item.lnum, item.text }
  end, vim.fn.getqflist()), { { 3, '+1 −1  TWO' }, { 7, '+0 −2  five' } })
  vim.cmd('cclose')
  instance.review:clear()
  equal(marked(buf), {})
  server.stop()
end)

test('a file that was moved says from where', function()
  local instance, _, uri, server, answer = reviewed('one\nTWO\n', {})
  local from = vim.uri_from_fname(vim.fs.joinpath(vim.fn.getcwd(), 'before.txt'))
  local bare = hunk('a', 0, 0, '', '')
  for _, case in ipairs({
    { { bare }, { 'moved from before.txt' } },
    { { hunk('b', 1, 2, 'two\n', 'TWO\n') }, { '+1 −1, moved from before.txt  TWO' } },
    { { bare, hunk('b', 1, 2, 'two\n', 'TWO\n') }, { 'moved from before.txt', '+1 −1  TWO' } },
  }) do
    instance.review:later({ uri })
    answer(case[1], { status = 'renamed', from = from })
    instance.review:list()
    equal(vim.tbl_map(function(item)
      return item.text
    end, vim.fn.getqflist()), case[2])
    vim.cmd('cclose')
  end
  instance.review:clear()
  server.stop()
end)

test('places of a text that is gone are asked for again', function()
  local instance, buf, uri, server, answer = reviewed('one\n', {})
  instance.review:later({ uri })
  eventually('the changes are asked for', function()
    return #instance.requests > 0
  end)
  vim.cmd('normal! ggOabove')
  answer({ hunk('a', 0, 1, 'eins\n', 'one\n') })
  equal(marked(buf), {}, 'the answer was of the text before')
  answer({ hunk('a', 1, 2, 'eins\n', 'one\n') })
  equal(marked(buf), { { 2, 2, 'eins' } })
  instance.review:clear()
  server.stop()
end)

test('a change is accepted or rejected at the cursor, in the file, or everywhere', function()
  local instance, _, uri, server = reviewed('one\nTWO\nthree\n', { hunk('a', 1, 2, 'two\n', 'TWO\n') })
  local review = instance.review
  vim.cmd('normal! gg')
  review:judge('accept')
  equal(#instance.requests, 0, 'there is none at the cursor')
  vim.cmd('normal! j')
  for _, case in ipairs({
    { 'accept', nil, { sessionId = 's', uri = uri, hunkIds = { 'a' } } },
    { 'reject', 'file', { sessionId = 's', uri = uri } },
    { 'reject', 'all', { sessionId = 's' } },
  }) do
    review:judge(case[1], case[2])
    local request = table.remove(instance.requests)
    equal({ request.method, request.params }, { 'tandem/changes/' .. case[1], case[3] })
  end
  review:clear()
  server.stop()
end)

test('the ends of a text: first line, last line, no line end, everything gone', function()
  for _, case in ipairs({
    { 'new\none\n', hunk('a', 0, 1, '', 'new\n'), { { 1, 1, '' } }, 'one\n' },
    { 'ONE\n', hunk('a', 0, 1, 'one\ntwo\n', 'ONE\n'), { { 1, 1, 'one|two' } }, 'one\ntwo\n' },
    { 'one\n', hunk('a', 1, 1, 'two\n', ''), { { 1, false, 'two' } }, 'one\ntwo\n' },
    { '', hunk('a', 0, 0, 'one\n', ''), { { 1, false, 'one' } }, 'one\n\n' },
    { 'one\nTWO', (function()
      local h = hunk('a', 1, 1, 'two', 'TWO')
      h.range['end'].character = 3
      return h
    end)(), { { 2, 2, 'two' } }, 'one\ntwo\n' },
  }) do
    local instance, buf, _, server = reviewed(case[1], { case[2] })
    equal(marked(buf), case[3], case[1])
    instance.review:split()
    local before = api.nvim_buf_get_lines(vim.fn.winbufnr(1), 0, -1, true)
    equal(table.concat(before, '\n') .. '\n', case[4], case[1])
    equal({ vim.fn.tabpagenr('$'), vim.wo.diff }, { 2, true })
    vim.cmd('tabclose')
    instance.review:clear()
    server.stop()
  end
end)

-- Sessions -----------------------------------------------------------------------------------------

local clients, sessions = require('tandem.client'), require('tandem.sessions')

-- A listed session in which so many changes wait.
local function listed(id, pending)
  return {
    sessionId = id,
    title = id,
    updatedAt = '2026-01-01T00:00:00Z',
    _meta = { tandem = { turns = 1, pending = pending } },
  }
end

local marked_root = dir .. '/marked'

-- An instance that is started for the sake of the marks, and how its start ended.
local function quietly(err, list)
  local instance = new_instance('quiet')
  instance.root, instance.quiet, instance.session = marked_root, true, nil
  local loaded, said
  function instance.load(_, id, callback)
    loaded = id
    callback()
  end
  sessions.resume(instance, function(e)
    said = e or 'began'
  end)
  instance.requests[1].answer(err, list and { sessions = list })
  return said, loaded
end

test('FindingU1 a session keeps its marker whatever becomes of another one of the folder', function()
  equal(sessions.marked(marked_root), false)
  sessions.mark(marked_root, 'a', true)
  sessions.mark(marked_root, 'b', true)
  sessions.mark(marked_root, 'b', false)
  sessions.mark(marked_root, 'c', false)
  equal({ sessions.marked(marked_root), sessions.marked(marked_root .. '/other') }, { true, false })
  sessions.mark(marked_root, 'a', false)
  equal(sessions.marked(marked_root), false)
  -- Where another Neovim has removed a marker it is written again.
  sessions.mark(marked_root, 'a', true)
  vim.fn.delete(sessions.folder(), 'rf')
  sessions.mark(marked_root, 'a', true)
  equal(sessions.marked(marked_root), true)
  sessions.mark(marked_root, 'a', false)
end)

test('FindingU1 a quiet start goes on with the session that is marked, and keeps the marker where it cannot know', function()
  sessions.mark(marked_root, 'a', true)
  equal(quietly({ code = 0, message = 'broken' }), 'broken')
  equal(sessions.marked(marked_root), true)
  equal({ quietly(nil, { listed('b', 0), listed('a', 1) }) }, { 'began', 'a' })
  equal(sessions.marked(marked_root), true)
  equal(quietly(nil, { listed('b', 1), listed('a', 0) }), 'nothing waits')
  equal(sessions.marked(marked_root), false)
end)

-- A server whose answers the test gives.
local function scripted(root, fn)
  local config = require('tandem.config')
  local requests = {}
  local name = vim.fn.has('nvim-0.11') == 1 and 'start' or 'start_client'
  local real = vim.lsp[name]
  vim.lsp[name] = function(options)
    local client = {
      id = 4711,
      offset_encoding = 'utf-8',
      server_capabilities = { experimental = { tandem = { protocolVersion = require('tandem.protocol').VERSION } } },
      notify = function() end,
      rpc = { notify = function() end },
    }
    client.rpc.request = function(method, params, answer)
      if method == 'tandem/session/new' then
        requests[#requests + 1] = { params = params, answer = answer }
      end
      return true
    end
    options.on_init(client)
    return client.id
  end
  config.set({ binary = 'true' })
  local chat_tell = chats.tell
  chats.tell = function() end
  local ok, err = xpcall(fn, debug.traceback, function()
    return table.remove(requests, 1)
  end)
  chats.tell, vim.lsp[name] = chat_tell, real
  config.set({})
  for _, instance in ipairs(clients.all()) do
    if instance.root == root then
      instance.review:clear()
      instance:stop()
    end
  end
  assert(ok, err)
end

test('FindingU4 a mode that was chosen outlives a start that failed', function()
  local root = dir .. '/chosen'
  scripted(root, function(new)
    local said
    local function ensure()
      clients.ensure(root, function(_, err)
        said = err or 'began'
      end)
    end
    clients.want(root, 'mode', 'auto')
    ensure()
    new().answer({ code = 0, message = 'no model' })
    equal({ said, clients.want(root, 'mode') }, { 'no model', 'auto' })
    ensure()
    local again = new()
    equal(again.params.mode, 'auto')
    again.answer(nil, { sessionId = 's' })
    equal({ said, clients.want(root, 'mode') }, { 'began', nil })
  end)
end)

test('FindingU1 commands that come while another session begins are answered, also where it fails', function()
  local root = dir .. '/renewed'
  scripted(root, function(new)
    local said = {}
    local function ensure()
      clients.ensure(root, function(_, err)
        said[#said + 1] = err or 'began'
      end)
    end
    ensure()
    new().answer(nil, { sessionId = 's' })
    local instance = clients.current(0)
    instance:renew()
    ensure()
    equal(said, { 'began' })
    new().answer(nil, { sessionId = 't' })
    equal(said, { 'began', 'began' })
    instance:renew()
    ensure()
    new().answer({ code = 0, message = 'no model' })
    equal(said, { 'began', 'began', 'no model' })
    ensure()
    new().answer(nil, { sessionId = 'u' })
    equal(said, { 'began', 'began', 'no model', 'began' })
  end)
end)

test('how a folder is searched is one line', function()
  local searches = require('tandem.health').searches
  equal(searches({ root = '/w', state = 'ready', files = 3000, bytes = 24 * 2 ^ 20 }), 'searches of /w: with an index of 3000 files (24 MiB)')
  local reason = '5 of 3005 files are read by each search'
  equal(
    searches({ root = '/w', state = 'ready', files = 3000, bytes = 7, reason = reason }),
    'searches of /w: with an index of 3000 files (1 MiB); ' .. reason
  )
  equal(searches({ root = '/w', state = 'building', files = 3000 }), 'searches of /w: an index of 3000 files is being built')
  equal(
    searches({ root = '/w\n', state = 'walking', reason = 'it has more than 400000 files' }),
    'searches of /w\\u{a}: without an index (it has more than 400000 files)'
  )
end)

test('F094 the changed parts of lines are marked in a diff and in the sides of a hunk', function()
  local function span(line, from, to)
    return { line = line, start = from, ['end'] = to }
  end
  local diff = '--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-\t😀 one\n+\t😀 two\n'
  local lines, highlights, parts = require('tandem.chat').diff_lines(diff, { span(4, 3, 6), span(5, 3, 6) })
  equal({ lines[5], lines[6] }, { '-  😀 one', '+  😀 two' })
  equal({ highlights[5], highlights[6] }, { 'TandemRemoved', 'TandemAdded' })
  equal(parts, { [5] = { { 8, 11, 'TandemRemovedText' } }, [6] = { { 8, 11, 'TandemAddedText' } } })
  equal(select(3, require('tandem.chat').diff_lines(diff)), {})
  local of_hunk = require('tandem.spans').of_hunk
  local function inline(from, to, op)
    return { start = from, ['end'] = to, op = op }
  end
  equal(of_hunk('é two\n', { inline(2, 5, 'insert'), inline(0, 1, 'delete') }, 'insert'), { { { 3, 6 } } })
  equal(of_hunk('a new\nwhole\nb c\n', { inline(2, 13, 'insert') }, 'insert'), { [1] = { { 2, 5 } }, [3] = { { 0, 1 } } })
  equal(of_hunk('a\r\nb two\r\n', { inline(5, 8, 'insert') }, 'insert'), { [2] = { { 2, 5 } } })
  equal(of_hunk('a\n', nil, 'insert'), {})
end)

vim.fn.delete(dir, 'rf')
io.stdout:write(('%d passed, %d failed\n'):format(passed, failures))
os.exit(failures == 0 and 0 or 1)
