--- The changes of a session that wait for a word: shown in the buffers they are in, accepted or rejected one by one.
---
--- The server says where a change is when it comes or becomes another; from then on its mark moves along with the text.
local api = vim.api
local documents = require('tandem.documents')
local spans = require('tandem.spans')
local texts = require('tandem.text')

local M = {}

local namespace = api.nvim_create_namespace('tandem_review')
local hint = api.nvim_create_namespace('tandem_review_hint')
local changed = api.nvim_create_namespace('tandem_review_changed')

--- So many of the lines that a change has taken away are shown.
local MAX_OLD = 12

---@class tandem.Review
---@field private instance tandem.Instance
---@field private files table<string, tandem.ReviewFile> by URI
---@field private due table<string, true>
---@field private beside table<string, true> files that Neovim's diff mode shows: it shows what was taken away
---@field private group? integer
local Review = {}
Review.__index = Review

---@class tandem.ReviewFile
---@field file tandem.ChangedFile
---@field hunks tandem.ChangedHunk[] those that wait, in the order of the text
---@field buf? integer in which they are drawn
---@field marks table<string, integer> by the id of the hunk
---@field below table<string, true> the hunks that have taken away the end of the text: their marks are above them

---@param instance tandem.Instance
---@return tandem.Review
function M.new(instance)
  return setmetatable({ instance = instance, files = {}, due = {}, beside = {} }, Review)
end

---@param count integer
---@param thing string
---@return string
local function plural(count, thing)
  return ('%d %s%s'):format(count, thing, count == 1 and '' or 's')
end

---@param count integer of changes that were not accepted or rejected
---@return string
local function left_as_is(count)
  if count == 1 then
    return '1 change was edited since and is left as it is.'
  end
  return ('%d changes were edited since and are left as they are.'):format(count)
end

---@param text string
---@return string[]
local function lines_of(text)
  local lines = vim.split((text:gsub('\r\n?', '\n')), '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

---@param hunk tandem.ChangedHunk
---@return string
local function size(hunk)
  return ('+%d −%d'):format(#lines_of(hunk.newText), #lines_of(hunk.oldText))
end

--- Starts to show the changes of the present session.
function Review:start()
  self:clear()
  self.group = api.nvim_create_augroup('tandem_review_' .. self.instance.root, {})
  api.nvim_create_autocmd('BufReadPost', {
    group = self.group,
    callback = function(event)
      local uri = vim.uri_from_bufnr(event.buf)
      if self.files[uri] then
        self:later({ uri })
      end
    end,
  })
  api.nvim_create_autocmd('CursorMoved', {
    group = self.group,
    callback = function(event)
      self:point(event.buf)
    end,
  })
end

--- Shows nothing any more. Whether something waits stays noted: it may be shown again.
function Review:clear()
  if self.group then
    pcall(api.nvim_del_augroup_by_id, self.group)
    self.group = nil
  end
  for uri in pairs(self.files) do
    self:erase(uri)
  end
  self.files, self.due = {}, {}
  require('tandem.status').changed()
end

--- How many files have changes that wait, and how many changes there are.
---@return integer files
---@return integer hunks
function Review:pending()
  local files, hunks = 0, 0
  for _, entry in pairs(self.files) do
    files, hunks = files + 1, hunks + #entry.hunks
  end
  return files, hunks
end

-- Asking the server --------------------------------------------------------------------------------

--- Asks for the changes of these files, once in a tick.
---@param uris string[]
function Review:later(uris)
  if next(self.due) == nil then
    vim.schedule(function()
      local due = self.due
      self.due = {}
      for uri in pairs(due) do
        self:fetch(uri)
      end
    end)
  end
  for _, uri in ipairs(uris) do
    self.due[uri] = true
  end
end

---@private
---@param uri string
---@return tandem.Document?
---@return integer? buf
function Review:document(uri)
  local buf = documents.buffer(vim.uri_to_fname(uri))
  return buf and self.instance.documents and self.instance.documents:get(buf) or nil, buf
end

---@private
---@param uri string
function Review:fetch(uri)
  local instance, session = self.instance, self.instance.session
  if not session then
    return
  end
  local doc = self:document(uri)
  local version = doc and doc.version
  instance:request('tandem/changes/list', { sessionId = session, uri = uri }, function(err, result)
    if err or instance.session ~= session then
      return
    end
    local now = self:document(uri)
    if (now and now.version) ~= version then
      return self:fetch(uri) -- somebody has typed meanwhile: the places are those of a text that is gone
    end
    self:take(uri, result.files[1])
  end)
end

--- Shows all changes of the session, and then calls back.
---@param callback fun()
function Review:all(callback)
  local instance, session = self.instance, self.instance.session
  instance:request('tandem/changes/list', { sessionId = session }, function(err, result)
    if not err and instance.session == session then
      for _, file in ipairs(result.files) do
        self:take(file.uri, file)
        self:later({ file.uri }) -- somebody may have typed meanwhile
      end
      self:note()
    end
    callback()
  end)
end

--- Notes whether changes wait, for a Neovim that starts later.
---@private
function Review:note()
  require('tandem.sessions').mark(self.instance.root, self.instance.session, next(self.files) ~= nil)
end

---@private
---@param uri string
---@param file? tandem.ChangedFile
function Review:take(uri, file)
  local waiting = vim.tbl_filter(function(hunk)
    return hunk.status == 'pending' or hunk.status == 'conflict'
  end, file and file.hunks or {})
  table.sort(waiting, function(a, b)
    local x, y = a.range.start, b.range.start
    return x.line < y.line or (x.line == y.line and x.character < y.character)
  end)
  self:erase(uri)
  self.files[uri] = #waiting > 0 and { file = file, hunks = waiting, marks = {}, below = {} } or nil
  self:draw(uri)
  self:note()
  require('tandem.status').changed()
end

-- Drawing ------------------------------------------------------------------------------------------

---@private
---@param uri string
function Review:erase(uri)
  local entry = self.files[uri]
  if entry and entry.buf and api.nvim_buf_is_valid(entry.buf) then
    for _, mark in pairs(entry.marks) do
      api.nvim_buf_del_extmark(entry.buf, namespace, mark)
    end
    api.nvim_buf_clear_namespace(entry.buf, hint, 0, -1)
    api.nvim_buf_clear_namespace(entry.buf, changed, 0, -1)
  end
end

--- The lines that a change has taken away, as they are shown between the lines of the text.
---@param buf integer
---@param hunk tandem.ChangedHunk
---@return {[1]: string, [2]: string}[][]?
local function ghosts(buf, hunk)
  local old = lines_of(hunk.oldText)
  if #old == 0 then
    return nil
  end
  local tab = (' '):rep(vim.bo[buf].tabstop)
  local result = {}
  local parts = spans.of_hunk(hunk.oldText, hunk.inline, 'delete')
  for i = 1, math.min(#old, MAX_OLD) do
    local chunks, width = { { '−', 'TandemRemoved' } }, 1
    for n, piece in ipairs(spans.pieces(old[i], parts[i])) do
      local text = vim.fn.strtrans((piece.text:gsub('\t', tab)))
      -- The sign takes the place of a blank, so that the text stands as it stood.
      text = n == 1 and text:gsub('^ ', '') or text
      chunks[#chunks + 1] = { text, piece.changed and 'TandemRemovedText' or 'TandemRemoved' }
      width = width + vim.fn.strdisplaywidth(text)
    end
    chunks[#chunks + 1] = { (' '):rep(math.max(vim.o.columns - width, 0)), 'TandemRemoved' }
    result[i] = chunks
  end
  if #old > MAX_OLD then
    result[#result + 1] = { { ('… and %d lines more'):format(#old - MAX_OLD), 'TandemDim' } }
  end
  return result
end

--- Lines above the first one are seen only where the window is scrolled to them.
---@param buf integer
---@param count integer
local function reveal_top(buf, count)
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(window, function()
      if vim.fn.line('w0') == 1 then
        vim.fn.winrestview({ topline = 1, topfill = count })
      end
    end)
  end
end

--- Highlights the parts of lines that a change has brought.
---@param buf integer
---@param doc tandem.Document
---@param hunk tandem.ChangedHunk
local function draw_parts(buf, doc, hunk)
  local row, column = texts.locate(doc, hunk.range.start)
  for n, line in pairs(spans.of_hunk(hunk.newText, hunk.inline, 'insert')) do
    local shift = n == 1 and column or 0
    local there = api.nvim_buf_get_lines(buf, row + n - 1, row + n, false)[1] or ''
    for _, part in ipairs(line) do
      if shift + part[2] <= #there then
        local options = { end_col = shift + part[2], hl_group = 'TandemAddedText', priority = 160 }
        api.nvim_buf_set_extmark(buf, changed, row + n - 1, shift + part[1], options)
      end
    end
  end
end

---@private
---@param uri string
function Review:draw(uri)
  local entry = self.files[uri]
  local doc, buf = self:document(uri)
  if not entry or not doc then
    return
  end
  entry.buf = buf
  local count = api.nvim_buf_line_count(buf)
  for _, hunk in ipairs(entry.hunks) do
    local first, column = texts.locate(doc, hunk.range.start)
    local last, last_column = texts.locate(doc, hunk.range['end'])
    if column > 0 then
      first = first + 1 -- the line end of the line above came with it
    end
    local stop = last_column > 0 and last + 1 or last
    local old = not self.beside[uri] and ghosts(buf, hunk) or nil
    local conflict = hunk.status == 'conflict'
    local mark = {
      virt_lines = old,
      virt_lines_above = true,
      virt_text = conflict and { { '  edited since', 'TandemConflict' } } or nil,
      sign_text = '▎',
      sign_hl_group = conflict and 'TandemConflict' or 'TandemAddedSign',
      priority = 150,
    }
    if hunk.newText ~= '' and stop > first then
      local final = math.min(stop, count) - 1
      mark.end_row, mark.end_col = final, #api.nvim_buf_get_lines(buf, final, final + 1, true)[1]
      mark.line_hl_group = not self.beside[uri] and 'TandemAdded' or nil
    else
      mark.sign_text = '▁'
      mark.sign_hl_group = conflict and 'TandemConflict' or 'TandemRemovedSign'
    end
    if first >= count then
      first, mark.virt_lines_above, entry.below[hunk.id] = count - 1, false, true
    end
    entry.marks[hunk.id] = api.nvim_buf_set_extmark(buf, namespace, first, 0, mark)
    if not self.beside[uri] then
      draw_parts(buf, doc, hunk)
    end
    if first == 0 and old and mark.virt_lines_above then
      reveal_top(buf, #old)
    end
  end
  self:point(buf)
end

-- Finding ------------------------------------------------------------------------------------------

---@class tandem.Place
---@field hunk tandem.ChangedHunk
---@field uri string
---@field first integer row
---@field last integer row, that of the last line; before first where only lines were taken away

---@private
---@param uri string
---@return tandem.Place[]
function Review:places(uri)
  local entry = self.files[uri]
  local result = {} ---@type tandem.Place[]
  if not entry or not entry.buf or not api.nvim_buf_is_valid(entry.buf) then
    return result
  end
  for _, hunk in ipairs(entry.hunks) do
    local at = api.nvim_buf_get_extmark_by_id(entry.buf, namespace, entry.marks[hunk.id], { details = true })
    if at[1] then
      local first = entry.below[hunk.id] and at[1] + 1 or at[1]
      result[#result + 1] = { hunk = hunk, uri = uri, first = first, last = at[3].end_row or first - 1 }
    end
  end
  table.sort(result, function(a, b)
    return a.first < b.first
  end)
  return result
end

---@private
---@param buf integer
---@return string? uri
function Review:uri(buf)
  for uri, entry in pairs(self.files) do
    if entry.buf == buf then
      return uri
    end
  end
end

--- The change on a line, or that which has taken away lines beside it.
---@param buf integer
---@param line integer from 1
---@return tandem.Place?
---@return integer? number of it
---@return integer? count of those in the buffer
function Review:at(buf, line)
  local uri = self:uri(buf)
  local places = uri and self:places(uri) or {}
  local beside
  for i, place in ipairs(places) do
    if place.first <= line - 1 and line - 1 <= place.last then
      return place, i, #places
    elseif place.last < place.first and math.abs(place.first - (line - 1)) <= 1 then
      beside = beside or i
    end
  end
  if beside then
    return places[beside], beside, #places
  end
end

--- The key that does something, or the command.
---@param name string
---@return string
local function way(name)
  local plug = ('<Plug>(tandem-%s)'):format(name)
  for _, map in ipairs(api.nvim_get_keymap('n')) do
    if map.rhs == plug then
      return vim.fn.keytrans(vim.keycode(map.lhs)) .. ' ' .. name
    end
  end
  return ':Tandem ' .. name
end

--- Says beside the change under the cursor what can be done with it.
---@private
---@param buf integer
function Review:point(buf)
  if not self:uri(buf) then
    return
  end
  api.nvim_buf_clear_namespace(buf, hint, 0, -1)
  if buf ~= api.nvim_get_current_buf() then
    return
  end
  local place, number, count = self:at(buf, api.nvim_win_get_cursor(0)[1])
  if place then
    local text = ('  %d/%d · %s · %s'):format(number, count, way('accept'), way('reject'))
    local row = math.min(place.first, api.nvim_buf_line_count(buf) - 1)
    api.nvim_buf_set_extmark(buf, hint, row, 0, { virt_text = { { text, 'TandemHint' } }, hl_mode = 'combine' })
  end
end

-- Doing --------------------------------------------------------------------------------------------

---@param what 'accept'|'reject'
---@param params table
---@private
function Review:decide(what, params)
  local instance = self.instance
  local tell = require('tandem.chat').tell
  params.sessionId = instance.session
  instance:request('tandem/changes/' .. what, params, function(err, result)
    instance.documents:release()
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    end
    self:later(params.uri and { params.uri } or vim.tbl_keys(self.files))
    local conflicts = #(result.conflicts or {})
    if conflicts > 0 then
      return tell(left_as_is(conflicts), vim.log.levels.WARN)
    end
    tell(('%sed %s'):format(what, plural(#result.changed, 'change')))
  end)
end

--- Accepts or rejects the change at the cursor, those of the file in the window, or all.
---@param what 'accept'|'reject'
---@param scope? 'file'|'all'
function Review:judge(what, scope)
  local tell = require('tandem.chat').tell
  local buf = api.nvim_get_current_buf()
  local _, hunks = self:pending()
  if hunks == 0 then
    return tell('no changes wait')
  elseif scope == 'all' then
    return self:decide(what, {})
  elseif scope == 'file' then
    local uri = self:uri(buf)
    return uri and self:decide(what, { uri = uri }) or tell('no changes wait in this file')
  end
  local place = self:at(buf, api.nvim_win_get_cursor(0)[1])
  if not place then
    return tell(('no change at the cursor; %s wait%s'):format(plural(hunks, 'change'), hunks == 1 and 's' or ''))
  end
  self:decide(what, { uri = place.uri, hunkIds = { place.hunk.id } })
end

--- The files with changes that wait, by name.
---@private
---@return string[] uris
function Review:uris()
  local uris = vim.tbl_filter(function(uri)
    return self.files[uri].file.status ~= 'deleted'
  end, vim.tbl_keys(self.files))
  table.sort(uris)
  return uris
end

--- Moves the cursor to the next change or the one before; beyond the last one of a file, to the next file.
---@param step 1|-1
function Review:go(step)
  local tell = require('tandem.chat').tell
  local uris = self:uris()
  if #uris == 0 then
    return tell('no changes wait')
  end
  local here = self:uri(api.nvim_get_current_buf())
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local places = here and self:places(here) or {}
  local from, to = 1, #places
  if step == -1 then
    from, to = to, from
  end
  for i = from, to, step do
    local place = places[i]
    if (step == 1 and place.first > row) or (step == -1 and place.first < row) then
      return self:jump(place)
    end
  end
  local at = 0
  for i, uri in ipairs(uris) do
    if uri == here then
      at = i
    end
  end
  local uri = uris[(at - 1 + step) % #uris + 1]
  if at == 0 then
    uri = step == 1 and uris[1] or uris[#uris]
  end
  if uri == here then
    local place = places[from]
    return place and self:jump(place)
  end
  -- In the chat the cursor stays: the file opens where files are edited.
  if vim.bo.buftype ~= '' then
    local window = require('tandem.chat').other_window()
    if window then
      api.nvim_set_current_win(window)
    end
  end
  vim.cmd("normal! m'")
  vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(vim.uri_to_fname(uri), ':.')))
  self:draw_missing(uri)
  local others = self:places(uri)
  local place = step == 1 and others[1] or others[#others]
  if place then
    self:jump(place)
  end
end

--- Draws the changes of a file that has just been opened.
---@private
---@param uri string
function Review:draw_missing(uri)
  local entry = self.files[uri]
  if entry and not entry.buf then
    self:draw(uri)
  end
end

---@private
---@param place tandem.Place
function Review:jump(place)
  vim.cmd("normal! m'")
  local count = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.min(place.first + 1, count), 0 })
  vim.cmd('normal! zv^')
  local _, number, all = self:at(api.nvim_get_current_buf(), place.first + 1)
  if number then
    require('tandem.chat').tell(('change %d of %d  %s'):format(number, all, size(place.hunk)))
  end
end

--- What has happened to a file as a whole; nil where only its text has changed.
---@param file tandem.ChangedFile
---@return string?
local function fate(file)
  if file.status == 'renamed' then
    return file.from and 'moved from ' .. vim.fn.fnamemodify(vim.uri_to_fname(file.from), ':~:.') or 'moved'
  end
  return file.status == 'added' and 'new' or nil
end

--- Puts the changes that wait into the quickfix list.
function Review:list()
  local items = {}
  for _, uri in ipairs(self:uris()) do
    local entry = self.files[uri]
    local rows = {}
    for _, place in ipairs(self:places(uri)) do
      rows[place.hunk.id] = place.first + 1
    end
    for i, hunk in ipairs(entry.hunks) do
      local first = lines_of(hunk.newText)[1] or lines_of(hunk.oldText)[1] or ''
      local bare = hunk.newText == '' and hunk.oldText == ''
      local what = (i == 1 or bare) and fate(entry.file) or nil
      local about = bare and what or size(hunk) .. (what and ', ' .. what or '')
      items[#items + 1] = {
        filename = vim.uri_to_fname(uri),
        lnum = rows[hunk.id] or hunk.range.start.line + 1,
        text = vim.trim(('%s  %s'):format(about, vim.trim(first))),
        type = hunk.status == 'conflict' and 'W' or '',
      }
    end
  end
  if #items == 0 then
    return require('tandem.chat').tell('no changes wait')
  end
  vim.fn.setqflist({}, ' ', { title = 'Changes of Tandem', items = items })
  vim.cmd('botright copen')
end

---@param name string
---@param lines string[]
---@param filetype string
---@return integer buf
local function scratch(name, lines, filetype)
  local buf = api.nvim_create_buf(false, true)
  pcall(api.nvim_buf_set_name, buf, ('tandem://%d/%s'):format(buf, name))
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].bufhidden, vim.bo[buf].filetype, vim.bo[buf].modifiable = 'wipe', filetype, false
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true })
  return buf
end

--- Opens the unified diff of what the session has changed: in the file at hand, or in all files.
---@param scope? 'all'
function Review:diff(scope)
  local tell = require('tandem.chat').tell
  local instance = self.instance
  local here = api.nvim_get_current_buf()
  local uri = self:uri(here)
  local function open(unified, name)
    if not unified or unified == '' then
      return tell('nothing has changed')
    end
    local buf = scratch(name, vim.split((unified:gsub('\n$', '')), '\n', { plain = true }), 'diff')
    api.nvim_open_win(buf, true, { split = 'below', win = 0 })
  end
  if scope ~= 'all' and uri then
    local params = { sessionId = instance.session, uri = uri, full = true }
    return instance:request('tandem/changes/diff', params, function(err, result)
      if err then
        return tell(err.message, vim.log.levels.ERROR)
      end
      open(result.unified, 'diff of ' .. vim.fs.basename(result.path))
    end)
  end
  instance:request('tandem/changes/list', { sessionId = instance.session }, function(err, result)
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    end
    local all = {}
    for _, file in ipairs(result.files) do
      all[#all + 1] = file.unified
    end
    open(table.concat(all), 'diff')
  end)
end

--- Opens Neovim's diff mode in a tab page: the file without the changes that wait, and the file.
function Review:split()
  local buf = api.nvim_get_current_buf()
  local uri = self:uri(buf)
  if not uri then
    return require('tandem.chat').tell('no changes wait in this file')
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  local places = self:places(uri)
  for i = #places, 1, -1 do
    local place = places[i]
    local old = lines_of(place.hunk.oldText)
    local rest = vim.list_slice(lines, math.max(place.last, place.first - 1) + 2)
    lines = vim.list_slice(lines, 1, place.first)
    vim.list_extend(lines, old)
    vim.list_extend(lines, rest)
  end
  local name = vim.fs.basename(vim.uri_to_fname(uri))
  vim.cmd('tab split')
  vim.cmd.diffthis()
  local before = scratch('before/' .. name, lines, vim.bo[buf].filetype)
  api.nvim_open_win(before, false, { split = 'left', win = 0 })
  api.nvim_buf_call(before, function()
    vim.cmd.diffthis()
  end)
  local function plain(on)
    self.beside[uri] = on
    self:erase(uri)
    self:draw(uri)
  end
  plain(true)
  api.nvim_create_autocmd('BufWipeout', {
    buffer = before,
    once = true,
    callback = function()
      vim.cmd('diffoff!')
      plain(nil)
    end,
  })
end

return M
