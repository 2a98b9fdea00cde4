--- Applies the server's edits to buffers.
---
--- An edit goes in only where the buffer's text is the one that it was computed for, as a whole and as one undo step;
--- cursors, scrolling and marks stay with the text they were at. Anything else is refused: the server then takes in
--- what has changed and asks again.
local api = vim.api
local documents = require('tandem.documents')
local texts = require('tandem.text')

local M = {}

local namespace = api.nvim_create_namespace('tandem_edits')

---@class tandem.Reply
---@field applied boolean
---@field failureReason? string
---@field tandem? tandem.ApplyEditVersion

--- An edit that may be made for another text, or at another moment.
---@param reason string
---@return tandem.Reply
local function refuse(reason)
  return { applied = false, failureReason = reason }
end

---@param path string
---@return string
local function short(path)
  return vim.fn.fnamemodify(path, ':.')
end

--- Closes the buffer's open undo step, so that what follows is one of its own. It works while somebody inserts, too.
---@param buf integer
local function close_undo_step(buf)
  api.nvim_buf_call(buf, function()
    vim.cmd('let &l:undolevels = &l:undolevels')
  end)
end

---@class tandem.Replacement
---@field first integer row
---@field first_column integer
---@field last integer row
---@field last_column integer
---@field text string
---@field index integer

---@param a tandem.Replacement
---@param b tandem.Replacement
local function from_the_end(a, b)
  if a.first ~= b.first then
    return a.first > b.first
  elseif a.first_column ~= b.first_column then
    return a.first_column > b.first_column
  elseif a.last ~= b.last then
    return a.last > b.last
  elseif a.last_column ~= b.last_column then
    return a.last_column > b.last_column
  end
  return a.index > b.index
end

--- The replacements that text edits mean, last one first; nil where they lie outside the text or overlap.
---@param doc tandem.Document
---@param edits lsp.TextEdit[]
---@return tandem.Replacement[]?
function M.replacements(doc, edits)
  local list = {} ---@type tandem.Replacement[]
  local rows = #doc.lines + (doc.eol and 1 or 0)
  for i, edit in ipairs(edits) do
    local first, first_column = texts.locate(doc, edit.range.start)
    local last, last_column = texts.locate(doc, edit.range['end'])
    if last >= rows or first > last or (first == last and first_column > last_column) then
      return nil
    end
    list[i] = {
      first = first,
      first_column = first_column,
      last = last,
      last_column = last_column,
      text = edit.newText,
      index = i,
    }
  end
  table.sort(list, from_the_end)
  for i = 2, #list do
    local later, earlier = list[i - 1], list[i]
    if earlier.last > later.first or (earlier.last == later.first and earlier.last_column > later.first_column) then
      return nil
    end
  end
  return list
end

---@param text string
---@param nl string
---@return string[]
local function lines_of(text, nl)
  if nl ~= '\n' then
    text = text:gsub('\r\n', '\n')
  end
  if nl == '\r' then
    text = text:gsub('\r', '\n')
  end
  return vim.split(text, '\n', { plain = true })
end

--- Puts the replacements into the buffer.
---@param buf integer
---@param doc tandem.Document
---@param list tandem.Replacement[]
local function replace(buf, doc, list)
  local count = api.nvim_buf_line_count(buf)
  local touches_end = #list > 0 and (list[1].last >= count or not doc.eol)
  if touches_end and doc.eol then
    -- The end of the text, after its last line end, is no line of the buffer: it is made one for as long as needed.
    api.nvim_buf_set_lines(buf, count, count, true, { '' })
  end
  local nl = doc.nl
  for _, r in ipairs(list) do
    api.nvim_buf_set_text(buf, r.first, r.first_column, r.last, r.last_column, lines_of(r.text, nl))
  end
  if not touches_end then
    return
  end
  count = api.nvim_buf_line_count(buf)
  local last = api.nvim_buf_get_lines(buf, count - 1, count, true)[1]
  local options = vim.bo[buf]
  if last ~= '' then
    if options.endofline then
      -- Otherwise Neovim would write the line end that the edit has taken away.
      options.endofline, options.fixendofline = false, false
    end
  else
    -- With one line left this empties the buffer, which is the text without a byte.
    api.nvim_buf_set_lines(buf, count - 1, count, true, {})
    if not options.endofline then
      options.endofline = true
    end
  end
end

--- Whether the caret of somebody who inserts stands at the start of a line before which whole lines arrive. Neovim
--- keeps a caret before what is inserted at it, where the next key would join the new lines.
---@param buf integer
---@param list tandem.Replacement[]
---@return boolean
local function caret_moves_down(buf, list)
  if buf ~= api.nvim_get_current_buf() or not api.nvim_get_mode().mode:find('^[iR]') then
    return false
  end
  local cursor = api.nvim_win_get_cursor(0)
  for _, r in ipairs(list) do
    local insertion = r.first == r.last and r.first_column == r.last_column
    local here = r.first == cursor[1] - 1 and r.first_column == cursor[2]
    if insertion and here and cursor[2] == 0 and r.text:find('[\r\n]$') then
      return true
    end
  end
  return false
end

--- Remembers as places in the text what Neovim would not keep there: marks in lines that change, and a caret that lines
--- push down, and folds made by hand. Cursors and scrolling it keeps by itself. Returns what puts them back.
---@param buf integer
---@param list tandem.Replacement[]
---@return fun() restore
local function keep_places(buf, list)
  ---@param row integer
  ---@param column integer
  local function anchor(row, column)
    return api.nvim_buf_set_extmark(buf, namespace, row, column, { strict = false })
  end
  ---@param id integer
  ---@return integer[] row from 1, and column
  local function place(id)
    local at = api.nvim_buf_get_extmark_by_id(buf, namespace, id, {})
    return { at[1] + 1, at[2] }
  end

  local caret
  if caret_moves_down(buf, list) then
    caret = anchor(api.nvim_win_get_cursor(0)[1] - 1, 0)
  end
  local marks = {}
  local function remember(all, pattern)
    for _, mark in ipairs(all) do
      local row, column = mark.pos[2], mark.pos[3] - 1
      if mark.pos[1] == buf and mark.mark:find(pattern) and row > 0 and row <= api.nvim_buf_line_count(buf) then
        marks[mark.mark:sub(2)] = anchor(row - 1, column)
      end
    end
  end
  remember(vim.fn.getmarklist(buf), "^'[a-z]$")
  remember(vim.fn.getmarklist(), "^'[A-Z]$")

  local restore_folds = require('tandem.folds').keep(buf, namespace, list)

  return function()
    restore_folds()
    if caret then
      api.nvim_win_set_cursor(0, place(caret))
    end
    for name, id in pairs(marks) do
      local at = place(id)
      if not vim.deep_equal(api.nvim_buf_get_mark(buf, name), at) then
        api.nvim_buf_set_mark(buf, name, at[1], at[2], {})
      end
    end
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

--- Whether the completion menu is open over text that a replacement touches: the menu's own bookkeeping would be wrong
--- afterwards.
---@param buf integer
---@param list tandem.Replacement[]
local function in_completion(buf, list)
  if buf ~= api.nvim_get_current_buf() or vim.fn.pumvisible() == 0 then
    return false
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  for _, r in ipairs(list) do
    if r.first <= row and row <= r.last then
      return true
    end
  end
  return false
end

--- Loads a file into a buffer that nobody sees, as it is: no modeline is heeded and no autocommand runs, so that nothing
--- that the file or its folder says takes effect. Documents:borrow makes up for it when somebody comes to see it.
--- Returns nil where it cannot be loaded, or another Neovim has it open.
---@param path string
---@return integer?
local function load(path)
  local buf = vim.fn.bufadd(path)
  local modeline, ignored = vim.go.modeline, vim.o.eventignore
  vim.go.modeline, vim.o.eventignore = false, 'all'
  local ok, err = pcall(vim.fn.bufload, buf)
  vim.go.modeline, vim.o.eventignore = modeline, ignored
  -- That there is a swap file (E325) is what matters.
  if api.nvim_buf_is_loaded(buf) and (ok or not err:find('E325', 1, true)) then
    vim.bo[buf].modeline = modeline
    return buf
  end
  api.nvim_buf_delete(buf, { force = true })
end

---@class tandem.Part
---@field path string
---@field uri string
---@field buf? integer
---@field create? boolean
---@field version? integer
---@field edits lsp.TextEdit[]

--- Sorts the changes of a WorkspaceEdit by file.
---@param edit lsp.WorkspaceEdit
---@return tandem.Part[]? parts
---@return string? never why it cannot be
local function parts_of(edit)
  if not edit.documentChanges then
    return nil, 'Neovim was sent an edit without documentChanges.'
  end
  local parts, by_path = {}, {}
  for _, change in ipairs(edit.documentChanges) do
    if change.kind and change.kind ~= 'create' then
      return nil, ('Neovim does not carry out the file operation %q.'):format(change.kind)
    end
    local path = vim.uri_to_fname(change.uri or change.textDocument.uri)
    local part = by_path[path]
    if not part then
      part = { path = path, uri = change.uri or change.textDocument.uri, buf = documents.buffer(path), edits = {} }
      by_path[path], parts[#parts + 1] = part, part
    end
    if change.kind then
      part.create = true
    else
      part.version = change.textDocument.version
      vim.list_extend(part.edits, change.edits)
    end
  end
  return parts
end

--- Makes the file of a part that creates one: it is empty, and on disk, as the protocol has it.
---@param path string
---@return boolean ok
local function create(path)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local fd, _, code = vim.uv.fs_open(path, 'wx', 438)
  if fd then
    vim.uv.fs_close(fd)
  end
  return fd ~= nil or code == 'EEXIST'
end

--- Why a buffer takes no edit, where it takes none at all.
---@param part tandem.Part
---@return string?
local function shut(part)
  local options, name = vim.bo[part.buf], short(part.path)
  if options.readonly and options.modifiable then
    return ('%s is read-only in Neovim; :set noreadonly lets the agent change it.'):format(name)
  elseif not options.modifiable then
    return ('%s cannot be modified in Neovim; :set modifiable lets the agent change it.'):format(name)
  end
end

--- Carries out what must be there before a part's edits can be judged; gives the reason where they cannot be judged now,
--- or a sentence where they never can.
---@param docs tandem.Documents
---@param part tandem.Part
---@return string? reason
---@return string? never
local function prepare(docs, part)
  local name = short(part.path)
  if part.buf then
    local open = docs:get(part.buf) ~= nil
    if not docs:open(part.buf) then
      return nil, ('%s is not UTF-8 in Neovim, so the agent cannot change it.'):format(name)
    elseif open then
      docs:refresh(part.buf)
    end
    local doc = docs:get(part.buf)
    if not open or not doc or part.version ~= doc.version then
      return 'version'
    end
    return nil, shut(part)
  end
  if part.version then
    return 'version' -- it has been closed since
  elseif documents.elsewhere(part.path) then
    return nil, ('%s is open in Neovim in another form than its text, so the agent cannot change it.'):format(name)
  end
  local fresh = part.create and not vim.uv.fs_stat(part.path)
  if part.create and not create(part.path) then
    return nil, ('Neovim cannot create %s.'):format(name)
  end
  part.buf = load(part.path)
  if not part.buf then
    return nil, ('Neovim cannot open %s: another one may have it open, or there is a swap file.'):format(name)
  end
  docs:borrow(part.buf)
  if not docs:open(part.buf) then
    return nil, ('%s is not UTF-8, so the agent cannot change it in Neovim.'):format(name)
  end
  local never = shut(part)
  if never then
    return nil, never
  end
  -- The server has not seen this text: it hears of it now, and asks again for it. An empty file needs no second look.
  if not fresh then
    return 'version'
  end
end

--- The buffers of a file, or of the files in a folder.
---@param path string
---@return integer[]
local function buffers_at(path)
  return vim.tbl_filter(function(buf)
    local name = api.nvim_buf_get_name(buf)
    return vim.bo[buf].buftype == '' and (name == path or vim.startswith(name, path .. '/'))
  end, api.nvim_list_bufs())
end

--- Gives a buffer another name. Text that is not saved stays so, and can be saved: Neovim does not write a buffer that was
--- renamed until it has read its file, so it reads it, and undo brings the text again.
---@param docs tandem.Documents
---@param buf integer
---@param path string
local function rename_buffer(docs, buf, path)
  local open, old = docs:get(buf) ~= nil, api.nvim_buf_get_name(buf)
  docs:close(buf)
  api.nvim_buf_set_name(buf, path)
  for _, left in ipairs(api.nvim_list_bufs()) do
    if left ~= buf and api.nvim_buf_get_name(left) == old then
      api.nvim_buf_delete(left, { force = true })
    end
  end
  if not api.nvim_buf_is_loaded(buf) then
    return
  end
  local views = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    views[win] = api.nvim_win_call(win, vim.fn.winsaveview)
  end
  local modified, undoreload = vim.bo[buf].modified, vim.go.undoreload
  vim.go.undoreload = -1
  api.nvim_buf_call(buf, function()
    vim.cmd('silent keepalt lockmarks edit!')
    if modified then
      vim.cmd('silent lockmarks undo')
    end
  end)
  vim.go.undoreload = undoreload
  for win, view in pairs(views) do
    api.nvim_win_call(win, function()
      vim.fn.winrestview(view)
    end)
  end
  if open then
    docs:open(buf)
  end
end

---@param docs tandem.Documents
---@param from string
---@param to string
---@return tandem.Reply
local function rename(docs, from, to)
  if vim.uv.fs_lstat(to) then
    return refuse('there is a file of that name')
  end
  local buffers = buffers_at(from)
  vim.fn.mkdir(vim.fs.dirname(to), 'p')
  local ok, err = vim.uv.fs_rename(from, to)
  if not ok then
    return refuse(err or 'it cannot be renamed')
  end
  for _, buf in ipairs(buffers) do
    rename_buffer(docs, buf, to .. api.nvim_buf_get_name(buf):sub(#from + 1))
  end
  return { applied = true }
end

---@param docs tandem.Documents
---@param path string
---@param known boolean whether what is in its buffer is known to who deletes it
---@return tandem.Reply
local function remove(docs, path, known)
  for _, buf in ipairs(buffers_at(path)) do
    local doc = docs:get(buf)
    local version = doc and doc.version
    -- In the same tick as the deletion: what another program has saved since is no text that anybody deletes.
    local newer = api.nvim_buf_is_loaded(buf) and docs:newer(buf)
    if newer == 'changed' or newer == 'conflict' then
      return refuse('disk')
    elseif (vim.bo[buf].modified and not known) or (doc and doc.version ~= version) then
      return refuse('version')
    end
  end
  local ok, err, code = vim.uv.fs_unlink(path)
  if not ok and code ~= 'ENOENT' then
    return refuse(err or 'it cannot be deleted')
  end
  for _, buf in ipairs(buffers_at(path)) do
    docs:close(buf)
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do -- which would close with it
      api.nvim_win_set_buf(win, api.nvim_create_buf(true, false))
    end
    api.nvim_buf_delete(buf, { force = true })
  end
  return { applied = true }
end

--- Renames or deletes a file, where that is what an edit ends with. Before it stand the versions that it is for.
---@param docs tandem.Documents
---@param changes table[]
---@return tandem.Reply? reply nil for any other edit
local function carry_out(docs, changes)
  local last = changes[#changes]
  if not last or (last.kind ~= 'rename' and last.kind ~= 'delete') then
    return nil
  end
  for i = 1, #changes - 1 do
    local document = changes[i].textDocument
    local buf = document and documents.buffer(vim.uri_to_fname(document.uri))
    local doc = buf and docs:get(buf)
    if not document or #changes[i].edits > 0 then
      return refuse('a file operation with others')
    elseif doc then
      docs:refresh(buf)
    end
    if not doc or doc.version ~= document.version then
      return refuse('version')
    end
  end
  if last.kind == 'rename' then
    return rename(docs, vim.uri_to_fname(last.oldUri), vim.uri_to_fname(last.newUri))
  end
  return remove(docs, vim.uri_to_fname(last.uri), #changes > 1)
end

--- Applies a WorkspaceEdit, or refuses it: `failureReason` "version" means that a text has changed since. What it can
--- never take it answers with a sentence for a person instead.
---@param docs tandem.Documents
---@param edit lsp.WorkspaceEdit
---@return tandem.Reply?
---@return string? never
function M.apply(docs, edit)
  local reply = carry_out(docs, edit.documentChanges or {})
  if reply then
    return reply
  end
  local parts, never = parts_of(edit)
  if not parts then
    return nil, never
  end
  local reason
  for _, part in ipairs(parts) do
    if not reason and not never then
      reason, never = prepare(docs, part)
    end
  end
  if never then
    return nil, never
  elseif reason then
    return refuse(reason)
  end
  for _, part in ipairs(parts) do
    part.list = M.replacements(docs:get(part.buf), part.edits)
    if not part.list then
      return refuse('range')
    elseif in_completion(part.buf, part.list) then
      return refuse('busy')
    end
  end
  -- What prepared one part may have changed another.
  for _, part in ipairs(parts) do
    local doc = docs:get(part.buf)
    if not doc or (part.version and doc.version ~= part.version) then
      return refuse('version')
    end
  end
  local versions = {} ---@type tandem.LandedVersion[]
  for _, part in ipairs(parts) do
    if #part.list > 0 then
      local buf = part.buf
      close_undo_step(buf)
      local restore = keep_places(buf, part.list)
      docs:batch(buf, function()
        replace(buf, docs:get(buf), part.list)
      end)
      restore()
      close_undo_step(buf)
    end
    local doc = docs:get(part.buf) -- it is closed where the server cannot hold what its text has become
    if doc then
      versions[#versions + 1] = { uri = part.uri, version = doc.version }
    end
  end
  return { applied = true, tandem = { versions = versions } }
end

return M
