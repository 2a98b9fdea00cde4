--- The text of a document as the server holds it: lines, what ends them, and the changes between two texts as the
--- protocol writes them.
---
--- Positions are UTF-8. A line ends at "\n", "\r\n" or "\r", as the protocol has it, so that a line of the buffer that
--- holds a carriage return is several lines there.
local M = {}

---@class tandem.Document
---@field uri string
---@field version integer the version last sent
---@field lines string[] the lines last sent
---@field eol boolean the text last sent ends with a line end
---@field nl string the line end
---@field tick? integer b:changedtick when the lines were last compared
---@field returns boolean some line may hold a carriage return
---@field batch? table[] changes collected for one notification
---@field stale? boolean the file on disk is newer than the buffer

local well_formed ---@type vim.lpeg.Pattern

--- Whether s is UTF-8, and so can travel as JSON.
---@param s string
---@return boolean
local function is_utf8(s)
  if not s:find('[\128-\255]') then
    return true
  end
  if not well_formed then
    local R = vim.lpeg.R
    local tail = R('\128\191')
    well_formed = (
      R('\0\127') ^ 1
      + R('\194\223') * tail
      + vim.lpeg.P('\224') * R('\160\191') * tail
      + R('\225\236', '\238\239') * tail * tail
      + vim.lpeg.P('\237') * R('\128\159') * tail
      + vim.lpeg.P('\240') * R('\144\191') * tail * tail
      + R('\241\243') * tail * tail * tail
      + vim.lpeg.P('\244') * R('\128\143') * tail * tail
    ) ^ 0 * -1
  end
  return well_formed:match(s) ~= nil
end

---@param lines string[]
---@return boolean
function M.hold_return(lines)
  for _, line in ipairs(lines) do
    if line:find('\r', 1, true) then
      return true
    end
  end
  return false
end

--- Whether a document can hold text so that the server reads the same: text is UTF-8, and in a file whose lines end in
--- a carriage return alone there is no line feed, which Neovim would keep as a carriage return.
---@param doc tandem.Document
---@param text string
---@return boolean
function M.travels(doc, text)
  return is_utf8(text) and not (doc.nl == '\r' and M.hold_return(doc.lines))
end

---@param b integer?
local function continues(b)
  return b ~= nil and b >= 0x80 and b < 0xC0
end

--- How many bytes a and b share at their beginning and at their end, cutting neither a character nor a CRLF.
---@param a string
---@param b string
---@return integer prefix
---@return integer suffix
local function common(a, b)
  local max = math.min(#a, #b)
  local prefix = 0
  while prefix < max and a:byte(prefix + 1) == b:byte(prefix + 1) do
    prefix = prefix + 1
  end
  while prefix > 0 and (continues(a:byte(prefix + 1)) or continues(b:byte(prefix + 1)) or a:byte(prefix) == 13) do
    prefix = prefix - 1
  end
  max = max - prefix
  local suffix = 0
  while suffix < max and a:byte(#a - suffix) == b:byte(#b - suffix) do
    suffix = suffix + 1
  end
  while suffix > 0 do
    local first = a:byte(#a - suffix + 1)
    local split = first == 10 and (a:byte(#a - suffix) == 13 or b:byte(#b - suffix) == 13)
    if not split and not continues(first) then
      break
    end
    suffix = suffix - 1
  end
  return prefix, suffix
end

--- The number of line ends that the protocol sees inside a line of the buffer which nl follows.
---@param line string
---@param nl string
---@return integer
local function inner_ends(line, nl)
  if not line:find('\r', 1, true) then
    return 0
  end
  local _, count = line:gsub('\r', '')
  return (nl == '\n' and line:sub(-1) == '\r') and count - 1 or count
end

--- The position of the byte at offset in text, which begins at the start of line row.
---@param text string
---@param offset integer
---@param row integer
---@return lsp.Position
local function position(text, offset, row)
  local line_start = 0
  while true do
    local nl = text:find('[\r\n]', line_start + 1)
    if nl and text:byte(nl) == 13 and text:byte(nl + 1) == 10 then
      nl = nl + 1
    end
    if not nl or nl > offset then
      return { line = row, character = offset - line_start }
    end
    row, line_start = row + 1, nl
  end
end

--- The protocol's number of a line of the buffer.
---@param doc tandem.Document
---@param row integer
---@return integer
local function protocol_row(doc, row)
  local count = row
  if doc.returns then
    for i = 1, row do
      count = count + inner_ends(doc.lines[i], doc.nl)
    end
  end
  return count
end

--- Where a position lies in the buffer: row and column from 0. A row past the last line is the end of a text that ends
--- with a line end. Columns past the end of the line mean its end.
---@param doc tandem.Document
---@param pos lsp.Position
---@return integer row
---@return integer column
function M.locate(doc, pos)
  local row, column = pos.line, pos.character
  if doc.returns then
    local left = pos.line
    for i, line in ipairs(doc.lines) do
      local nl = (i == #doc.lines and not doc.eol) and '' or doc.nl
      local inner = inner_ends(line, nl)
      row = i - 1
      if left <= inner then
        local start = 0
        for _ = 1, left do
          start = line:find('\r', start + 1, true)
        end
        column = start + column
        break
      end
      left = left - inner - 1
      row = row + 1 + left
    end
  end
  local line = doc.lines[row + 1]
  return row, line and math.min(column, #line) or 0
end

--- The change that turns old into new, both beginning at the start of line row; nil when they are equal.
---@param old string
---@param new string
---@param row integer
---@return table?
function M.change(old, new, row)
  if old == new then
    return nil
  end
  local prefix, suffix = common(old, new)
  return {
    range = { start = position(old, prefix, row), ['end'] = position(old, #old - suffix, row) },
    text = new:sub(prefix + 1, #new - suffix),
  }
end

---@param list string[]
---@param first integer 0-based
---@param last integer exclusive
---@param tail string what follows the last line
---@param nl string
local function body(list, first, last, tail, nl)
  return first < last and table.concat(list, nl, first + 1, last) .. tail or ''
end

--- Replaces lines [first, last) of the document and says so as an LSP content change; nil when nothing changed.
---@param doc tandem.Document
---@param first integer
---@param last integer
---@param new string[]
---@return table?
function M.splice(doc, first, last, new)
  local lines, nl = doc.lines, doc.nl
  local count = #lines
  if first == 0 and last == count and #new == 0 then
    new = { '' } -- a buffer has one line at least
  end
  local at_end = last == count
  local tail = (at_end and not doc.eol) and '' or nl
  local from, fresh = first, new
  if tail == '' and first > 0 and (first == last or #new == 0) then
    -- The last line has no line end of its own: what comes or goes is that of the line above.
    from, fresh = first - 1, { lines[first] }
    vim.list_extend(fresh, new)
  end
  local result = M.change(body(lines, from, last, tail, nl), body(fresh, 0, #fresh, tail, nl), protocol_row(doc, from))
  doc.returns = doc.returns or M.hold_return(new)

  local shift = #new - (last - first)
  if shift > 0 then
    for i = count, last + 1, -1 do
      lines[i + shift] = lines[i]
    end
  elseif shift < 0 then
    for i = last + 1, count do
      lines[i + shift] = lines[i]
    end
    for i = count + shift + 1, count do
      lines[i] = nil
    end
  end
  for i, line in ipairs(new) do
    lines[first + i] = line
  end
  return result
end

--- Adds or takes away the document's last line end and says so as a content change.
---@param doc tandem.Document
---@param eol boolean
---@return table?
function M.set_eol(doc, eol)
  if eol == doc.eol then
    return nil
  end
  doc.eol = eol
  local row, last = #doc.lines - 1, doc.lines[#doc.lines]
  return M.change(last .. (eol and '' or doc.nl), last .. (eol and doc.nl or ''), protocol_row(doc, row))
end

---@param doc tandem.Document
---@return string
function M.whole(doc)
  return table.concat(doc.lines, doc.nl) .. (doc.eol and doc.nl or '')
end

return M
