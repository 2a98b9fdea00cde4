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
    equal(edits.apply(server.documents, edit_of(uri, 1, list)), { applied = true }, what)
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
  equal(edits.apply(server.documents, edit), { applied = true })
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

test('what cannot be applied is refused', function()
  local server = new_server()
  local buf, _, uri = open('one\n')
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
  vim.bo[buf].modifiable = false
  equal(reason({ span(0, 0, 0, 1) }), 'readonly')
  vim.bo[buf].modifiable = true
  vim.bo[buf].readonly = true
  equal(reason({ span(0, 0, 0, 1) }), 'readonly')
  equal(edits.apply(server.documents, { changes = {} }).failureReason, 'unsupported: changes')
  equal(edits.apply(server.documents, { documentChanges = { { kind = 'delete', uri = uri } } }).applied, false)
  equal(server.docs[uri].text, 'one\n')
  server.stop()
end)

test('one edit is one undo step', function()
  local server = new_server()
  local buf, _, uri = open('one\ntwo\nthree\n')
  vim.cmd('normal! A typed')
  local text = 'one typed\ntwo\nthree\n'
  for i, word in ipairs({ 'A', 'B' }) do
    local list = { text_edit(text, 10, 10, word), text_edit(text, #text - 6, #text - 6, word) }
    equal(edits.apply(server.documents, edit_of(uri, 1 + i, list)), { applied = true })
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
  equal(edits.apply(server.documents, edit_of(uri, 1, list)), { applied = true })
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
  equal(edits.apply(server.documents, edit_of(uri, 1, { text_edit(text, 0, 0, 'a\nb\nc\n') })), { applied = true })
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
    equal(edits.apply(server.documents, edit_of(uri, server.docs[uri].version, list)), { applied = true })
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
  equal(edits.apply(server.documents, edit_of(uri, 1, list)), { applied = true })
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
    equal(edits.apply(server.documents, edit), { applied = true }, name)
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
    equal(c.insert(case[2], case[3], case[4]), { applied = true })
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
  equal(c.insert(1, 0, 'new\nlines\n'), { applied = true })
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
    [[return require('tandem.edits').apply(docs, { documentChanges = { {
        textDocument = { uri = ... }, edits = {} } } })]],
    vim.uri_from_fname(there.lua('return vim.api.nvim_buf_get_name(0)'))
  )
  equal(reply, { applied = false, failureReason = 'cannot open' })
  here.stop()
  there.stop()
end)

-- Permission, settings, chat -----------------------------------------------------------------------

local permission = require('tandem.permission')
local OPTIONS = {
  { optionId = 'allow_once', name = 'Allow', kind = 'allow_once' },
  { optionId = 'reject_once', name = 'Reject', kind = 'reject_once' },
}

local function with_select(fn, body)
  local select = vim.ui.select
  vim.ui.select = fn
  local ok, err = pcall(body)
  vim.ui.select = select
  if not ok then
    error(err, 0)
  end
end

local function ask(id)
  local outcome
  permission.ask({
    sessionId = 's',
    toolCall = { toolCallId = id, title = 'Run', rawInput = { command = 'rm -rf x\n\27[2K echo hi' } },
    options = OPTIONS,
  }, function(o)
    outcome = o
  end)
  return function()
    vim.wait(2000, function()
      return outcome ~= nil
    end, 5)
    return outcome
  end
end

test('a question shows the command and takes an answer', function()
  local prompt
  with_select(function(items, opts, choose)
    prompt = opts.prompt
    vim.schedule(function()
      choose(items[1])
    end)
  end, function()
    equal(ask('1')(), { outcome = 'selected', optionId = 'allow_once' })
  end)
  equal(prompt, 'Tandem asks to run:\n  rm -rf x\n  ^[[2K echo hi')
end)

test('turning away refuses, a withdrawn question is cancelled, one is asked at a time', function()
  local open = {}
  with_select(function(_, _, choose)
    open[#open + 1] = choose
  end, function()
    local first, second, third = ask('1'), ask('2'), ask('3')
    vim.wait(2000, function()
      return #open == 1
    end, 5)
    permission.withdraw('s', '2')
    equal(second(), { outcome = 'cancelled' })
    equal(#open, 1)
    open[1](nil)
    equal(first(), { outcome = 'selected', optionId = 'reject_once' })
    vim.wait(2000, function()
      return #open == 2
    end, 5)
    permission.withdraw('s')
    equal(third(), { outcome = 'cancelled' })
    open[2](OPTIONS[1]) -- too late, and without effect
  end)
end)

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

test('the chat shows a turn', function()
  local chat = require('tandem.chat').new('unit')
  chat:asked('fix it')
  chat:text('Let me ')
  chat:text('look.\nNow')
  chat:call({ toolCallId = '1', title = 'Edit a.txt', status = 'pending' })
  chat:call({ toolCallId = '2', title = 'Read b.txt', status = 'in_progress' })
  local unified = '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-old\n+new\n+more\n'
  chat:call({
    toolCallId = '1',
    status = 'completed',
    content = { { type = 'diff', path = 'a.txt', _meta = { tandem = { unified = unified } } } },
  })
  chat:call({ toolCallId = '2', status = 'failed', _meta = { tandem = { error = 'READ_ERROR' } } })
  chat:text('Done.')
  chat:note('(turn 1: end_turn)')
  equal(table.concat(api.nvim_buf_get_lines(chat.buf, 0, -1, true), '\n'), [[
## You
fix it

## Tandem
Let me look.
Now
- Edit a.txt [completed]  +2 -1
    -old
    +new
    +more
- Read b.txt [failed]  READ_ERROR
Done.
(turn 1: end_turn)]])
end)

vim.fn.delete(dir, 'rf')
io.stdout:write(('%d passed, %d failed\n'):format(passed, failures))
os.exit(failures == 0 and 0 or 1)
